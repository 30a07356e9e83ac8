"""Wrong answers to `least_micro_batches`, each with words of the hint that it must earn."""

from exercises.grading.wrong import whole

WRONG = [
    whole(
        "floating_share",
        "Right on paper",
        """
        def least_micro_batches(p, percent):
            share = percent / 100
            return max(1, math.ceil((p - 1) * (1 - share) / share))
        """,
    ),
    whole(
        "over_m",
        "That is with (p - 1) / m",
        """
        def least_micro_batches(p, percent):
            return max(1, math.ceil(100 * (p - 1) / percent))
        """,
    ),
    whole(
        "rounded_down",
        "Rounded down there are too few",
        """
        def least_micro_batches(p, percent):
            return max(1, (p - 1) * (100 - percent) // percent)
        """,
    ),
]
