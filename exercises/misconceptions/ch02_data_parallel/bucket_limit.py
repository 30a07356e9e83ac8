"""Wrong answers to `bucket_limit`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

BEST = "min(limits, key=step)"
LIMITS = "{total for i, _ in enumerate(nbytes) for total in itertools.accumulate(nbytes[i:])}"

WRONG = [
    edit("largest_tensor", "That is the largest tensor's size", BEST, "max(nbytes)"),
    edit("default_of_ddp", "That is a default of frameworks", BEST, "25 * 2**20"),
    edit("each_alone", "Each tensor has a bucket of its own here", BEST, "1"),
    edit("one_bucket", "One bucket pays the latency once", BEST, "sum(nbytes)"),
    edit("returns_the_time", "is that the time of the best step", BEST, "min(map(step, limits))"),
    edit("seconds_the_wrong_way_round", "Fewer buckets would pay fewer latencies", "seconds[i]", "seconds[-1 - i]"),
    edit("powers_of_two", "The best of the powers of two", LIMITS, "[2**k for k in range(1, 30)]"),
    edit("a_thousand_limits", "between two points of a grid", LIMITS, "np.linspace(min(nbytes), sum(nbytes), 1000)"),
    edit(
        "halves_without_end",
        "Does a loop never end",
        f"return {BEST}",
        """
        low, high = min(nbytes), sum(nbytes)
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if step(middle) < step(middle + 1) else (middle, high)
        return low
        """,
    ),
    edit("whole_kilobytes", "between two points of a grid", BEST, f"{BEST} // 1000 * 1000"),
    edit(
        "a_grid_of_100_bytes", "between two points of a grid", LIMITS, "range(100, min(sum(nbytes), 2**20) + 100, 100)"
    ),
    edit(
        "few_tensors_at_a_time",
        "Fewer buckets would pay fewer latencies",
        "accumulate(nbytes[i:])",
        "accumulate(nbytes[i : i + 6])",
    ),
    edit(
        "only_the_first_bucket",
        "With more buckets the sending would begin earlier",
        LIMITS,
        "list(itertools.accumulate(nbytes[::-1]))",
    ),
    edit("forgets_the_latency", "Each tensor has a bucket of its own here", "alpha + size / P", "size / P"),
    edit("whole_array_to_all", "The number of buckets is right", "size / P * beta", "size * beta"),
]
