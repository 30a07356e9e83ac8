"""Wrong answers to `bucket_limit`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "largest_tensor",
        "That is the largest tensor's size",
        """
        def bucket_limit(nbytes, seconds, P, alpha, beta):
            return max(nbytes)
        """,
    ),
    whole(
        "seconds_the_wrong_way_round",
        "Fewer buckets would pay fewer latencies",
        """
        def step(limit, nbytes, seconds, P, alpha, beta):
            \"\"\"The step's time.\"\"\"
            buckets, held = [], 0
            for tensor in reversed(range(len(nbytes))):
                if not buckets or held + nbytes[tensor] > limit:
                    buckets.append([])
                    held = 0
                buckets[-1].append(tensor)
                held += nbytes[tensor]
            full = through = 0
            for bucket in buckets:
                full += sum(seconds[-1 - i] for i in bucket)
                through = max(full, through) + 2 * (P - 1) * (alpha + sum(nbytes[i] for i in bucket) / P * beta)
            return through


        def bucket_limit(nbytes, seconds, P, alpha, beta):
            limits = [sum(nbytes[i:j]) for i in range(len(nbytes)) for j in range(i + 1, len(nbytes) + 1)]
            return min(limits, key=lambda limit: step(limit, nbytes, seconds, P, alpha, beta))
        """,
    ),
    whole(
        "a_thousand_limits",
        "between two points of a grid",
        """
        def step(limit, nbytes, seconds, P, alpha, beta):
            full = through = held = 0.0
            for i in range(len(nbytes))[::-1]:
                if held and held + nbytes[i] > limit:
                    through = max(full, through) + 2 * (P - 1) * (alpha + held / P * beta)
                    held = 0
                held += nbytes[i]
                full += seconds[i]
            return max(full, through) + 2 * (P - 1) * (alpha + held / P * beta)


        def bucket_limit(nbytes, seconds, P, alpha, beta):
            limits = np.linspace(min(nbytes), sum(nbytes), 1000).tolist()
            return min(limits, key=lambda limit: step(limit, nbytes, seconds, P, alpha, beta))
        """,
    ),
    edit("default_of_ddp", "That is a default of frameworks", "max(nbytes)", "25 * 2**20", of="largest_tensor"),
    edit("each_alone", "Each tensor has a bucket of its own here", "max(nbytes)", "1", of="largest_tensor"),
    edit("one_bucket", "One bucket pays the latency once", "max", "sum", of="largest_tensor"),
    edit(
        "powers_of_two",
        "The best of the powers of two",
        "-1 - i",
        "i",
        "sum(nbytes[i:j]) for i in range(len(nbytes)) for j in range(i + 1, len(nbytes",
        "2**k for k in range(1, sum(nbytes).bit_length(",
        of="seconds_the_wrong_way_round",
    ),
    edit(
        "returns_the_time",
        "is that the time of the best step",
        "[-1 - i",
        "[i",
        "limits, key=lambda limit: step(limit, nbytes, seconds, P, alpha, beta)",
        "step(limit, nbytes, seconds, P, alpha, beta) for limit in limits",
        of="seconds_the_wrong_way_round",
    ),
]
