"""Wrong answers to `least_micro_batches`, each with words of the hint that it must earn."""

from exercises.grading.wrong import whole

WRONG = [
    whole(
        "floating_share",
        "its 0.2 is not exactly a fifth",
        """
        def least_micro_batches(p, percent):
            share = percent / 100
            return max(1, math.ceil((p - 1) * (1 - share) / share))
        """,
    ),
]
