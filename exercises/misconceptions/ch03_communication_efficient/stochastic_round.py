"""Wrong answers to `stochastic_round`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    whole(
        "from_above",
        "ceil where floor is meant",
        """
        def stochastic_round(x, u):
            low = np.ceil(x)
            return low + (u < x - np.floor(x))
        """,
    ),
    whole(
        "adds_u",
        "On average that is right as well",
        """
        def stochastic_round(x, u):
            return np.floor(x + u)
        """,
    ),
    whole(
        "always_down",
        "All is rounded down",
        """
        def stochastic_round(x, u):
            return np.floor(x)
        """,
    ),
    edit("always_up", "all is rounded up", "floor", "ceil"),
    edit("compares_with_x", "u is compared with x itself", "x - low", "x"),
    edit("digits_of_the_magnitude", "stands its distance from -2", "x - low", "np.abs(x) % 1"),
    edit("exchanged", "a number just below the next whole one", "x - low", "np.ceil(x) - x"),
    edit("from_the_nearest", "It begins from the nearest whole number", "ceil", "round", of="from_above"),
    whole(
        "nearest",
        "rounded to nearest, and not at random",
        """
        def stochastic_round(x, u):
            return np.round(x)
        """,
    ),
    edit("nearest_and_its_distance", "never goes down, so the mean is too large", "floor", "round"),
    whole(
        "sign_set_aside",
        "goes away from 0",
        """
        def stochastic_round(x, u):
            return np.sign(x) * (np.floor(np.abs(x)) + (u < np.abs(x) % 1))
        """,
    ),
    edit("towards_zero", "go up, towards 0", "floor", "trunc"),
    edit("u_is_at_least", "2.25 should go up in one of four cases", "u < x", "u >= x"),
    edit("u_of_0", "less, or less or equal", "< x", "<= x"),
    whole(
        "undefined_at_whole_numbers",
        "Two whole numbers are next to x",
        """
        def stochastic_round(x, u):
            up, down = x - np.floor(x), np.ceil(x) - x
            return np.floor(x) * (u >= 1 - down) + np.ceil(x) * (u < up)
        """,
    ),
    edit("up_or_down", "goes up with probability 1/2", "x - low", "0.5"),
]
