"""Wrong answers to `which_collective`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit(
        "allreduce_everywhere",
        "An allreduce gives every rank the sum",
        """
        "E": "alltoall",
        "F": "reduce",
        "G": "send",
        "H": "gather",
        "I": "barrier",
        """,
        """
        "E": "allreduce",
        "F": "allreduce",
        "G": "allreduce",
        "H": "allreduce",
        "I": "allreduce",
        """,
    ),
    edit("left_one_out", "guessing is free", '"G": "send",', ""),
    whole(
        "list_of_names",
        "Return a dictionary from letters to names",
        """
        def which_collective():
            return ["allreduce", "reduce-scatter", "allgather", "broadcast", "alltoall", "reduce", "send", "gather", "barrier"]
        """,
    ),
    edit("other_spelling", 'Is "allreduce" meant?', "allreduce", "all_reduce"),
]
