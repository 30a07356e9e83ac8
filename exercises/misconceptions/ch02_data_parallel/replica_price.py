"""Wrong answers to `replica_price`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("all_links_together", "All links together", "/ bandwidth", "/ (ranks * bandwidth)"),
    edit("bits_per_second", "The bandwidth is in bytes per second already", ", sent /", ", 8 * sent /"),
    edit("everything_travels", "Only gradients travel", "* 2 *", "* 16 *"),
    edit("folklore_800_gb", "the folklore's 800 GB", "return 16 * parameters", "return parameters"),
    edit("gradients_of_32_bits", "the right part of gradients with 32 bits", "* 2 *", "* 4 *"),
    edit("gradients_twice", "That is all of the gradients, twice", "(ranks - 1) / ranks * 2", "2"),
    edit("no_master_weights", "Something is missing, or counted short", "return 16 *", "return (2 + 2 + 4 + 4) *"),
    edit("one_half", "Half of what is right. Either a gradient has one byte", "= 2 * (", "= ("),
    edit("one_replica", "That is one replica", "parameters * ranks,", "parameters,"),
    whole(
        "seconds_only",
        "makes a tuple of them",
        """
        def replica_price(parameters, ranks, bandwidth):
            return 2 * (ranks - 1) / ranks * 2 * parameters / bandwidth
        """,
    ),
    edit(
        "size_of_the_gradients",
        "That is the size of the gradients",
        "(ranks - 1) / ranks * 2 * parameters",
        "parameters",
    ),
    edit("weights_only", "That is the weights alone", "return 16 *", "return 2 *"),
]
