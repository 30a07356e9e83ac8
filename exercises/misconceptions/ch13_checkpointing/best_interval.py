"""Wrong answers to `best_interval` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "both",
        "Return one number, the time of work",
        """
        def best_interval(C, R, M):
            return math.sqrt(2 * C * M), math.sqrt(2 * C * M) - C
        """,
    ),
    whole(
        "daly_everywhere",
        "The work between two checkpoints takes a time above 0",
        """
        def best_interval(C, R, M):
            if C < 2 * M:
                low, high = 0.0, 1.0
                for _ in range(50):
                    u = (low + high) / 2
                    low, high = (u, high) if C / M + u + math.log1p(-u) > 0 else (low, u)
                return low * M
            return math.sqrt(2 * C * M) - C
        """,
    ),
    whole(
        "exp_of_everything",
        "whether the least is on the left or on the right can be said by logarithms",
        """
        def best_interval(C, R, M):
            def price(T):
                return M * math.exp(R / M) * (math.exp((T + C) / M) - 1) / T

            low, high = 1e-9 * M, float(M)
            while high - low > high / 10_000:
                one, other = low + (high - low) / 3, high - (high - low) / 3
                low, high = (low, other) if price(one) < price(other) else (one, high)
            return low
        """,
    ),
    whole(
        "of_a_portion",
        "which quotient is to be least",
        """
        def best_interval(C, R, M):
            return M / 2
        """,
    ),
    edit("rounds_to_one", "Fifty halvings are enough", "range(50)", "range(2000)"),
]
