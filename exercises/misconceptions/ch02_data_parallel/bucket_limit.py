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
]
