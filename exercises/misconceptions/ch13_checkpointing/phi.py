"""Wrong answers to `phi` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

LAST = "-math.log10(math.erfc(x / math.sqrt(2)) / 2)"

WRONG = [
    edit(
        "one_minus", "1 - 0.99999... has lost its digits", LAST, "-math.log10(1 - (1 + math.erf(x / math.sqrt(2))) / 2)"
    ),
    whole(
        "no_least",
        "What is it taken to be then",
        """
        def phi(arrivals, now, window, least):
            intervals = [after - before for before, after in zip(arrivals, arrivals[1:])][-window:]
            mean = sum(intervals) / len(intervals)
            deviation = math.sqrt(sum((each - mean) ** 2 for each in intervals) / len(intervals))
            return -math.log10(math.erfc((now - arrivals[-1] - mean) / deviation / math.sqrt(2)) / 2)
        """,
    ),
    edit(
        "median",
        "How many standard deviations is the silence above the mean",
        "now - arrivals[-1] - intervals.mean()",
        "now - arrivals[-1] - np.median(intervals)",
    ),
    edit("suspected", "Return one number", f"return {LAST}", f"return {LAST} > 8"),
]
