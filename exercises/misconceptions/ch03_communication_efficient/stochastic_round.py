"""Wrong answers to `stochastic_round`, each with words of the hint that it must earn. Others are slips of its check."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("in_32_bits", "Only large numbers are wrong", "np.floor(x)", "np.floor(x).astype(np.int32).astype(float)"),
    edit("in_float32", "another element type than x has", "(x)", "(x).astype(np.float32)"),
    edit("own_dice", "but not the one that u decides for", "u <", "np.random.default_rng(1).uniform(0, 1, x.size) <"),
    whole(
        "undefined_at_whole_numbers",
        "Two whole numbers are next to x",
        """
        def stochastic_round(x, u):
            up, down = x - np.floor(x), np.ceil(x) - x
            return np.floor(x) * (u >= 1 - down) + np.ceil(x) * (u < up)
        """,
    ),
    edit("tolerance", "but not the one that u decides for", "x - low)", "x - low - 1e-9)"),
]
