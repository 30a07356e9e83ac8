"""Wrong answers to `how_many_to_send`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "codec_twice",
        "The codec's time is charged twice",
        """
        def how_many_to_send(d, P, alpha, beta, codec, window):
            def seconds(k):
                return 2 * d * codec + (P - 1) * (alpha + top_k_bytes(d, k) * beta)

            whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
            if whole <= window:
                return 0
            if seconds(1) > window:
                return int(seconds(1) < whole)
            fits, too_many = 1, d
            while too_many - fits > 1:
                middle = (fits + too_many) // 2
                if seconds(middle) <= window:
                    fits = middle
                else:
                    too_many = middle
            return fits
        """,
    ),
    whole(
        "least",
        "The least that can be sent loses",
        """
        def how_many_to_send(d, P, alpha, beta, codec, window):
            def seconds(k):
                return d * codec + (P - 1) * (alpha + top_k_bytes(d, k) * beta)

            whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
            if whole <= window:
                return 0
            if seconds(1) > window:
                return int(seconds(1) < whole)
            return 1
        """,
    ),
    whole(
        "less",
        "Less, or less or equal?",
        """
        def how_many_to_send(d, P, alpha, beta, codec, window):
            def top(k):
                return d * codec + (P - 1) * (alpha + beta * top_k_bytes(d, k))

            whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
            if whole < window:
                return 0
            if d == 1:
                return 0
            if top(1) >= window:
                return 1 if top(1) < whole else 0
            lo, hi = 1, d
            while hi - lo > 1:
                mid = (lo + hi) // 2
                if top(mid) < window:
                    lo = mid
                else:
                    hi = mid
            return lo
        """,
    ),
    edit(
        "all_are_d",
        "which means all",
        """
        if whole < window:
            return 0
        """,
        """
        if whole <= window:
            return d
        """,
        """
        if d == 1:
            return 0
        if top(1) >= window:
        """,
        """
        if d == 1:
            return d
        if top(1) > window:
        """,
        ") < window:",
        ") <= window:",
        of="less",
    ),
    edit(
        "always_compresses",
        "so compression would cost time and accuracy",
        "2 * d",
        "d",
        """
        if whole <= window:
            return 0
        """,
        "",
        of="codec_twice",
    ),
    edit(
        "codec_not_charged", "The codec's time is not charged", "return 2 * d * codec + (", "return (", of="codec_twice"
    ),
    edit(
        "counts_up",
        "A billion values of k",
        "return 1",
        """
        k = 1
        while k < d - 1 and seconds(k + 1) <= window:
            k += 1
        return k
        """,
        of="least",
    ),
    edit(
        "gives_up",
        "But it is there sooner than the whole gradient",
        "return 2 * d",
        "return d",
        "int(seconds(1) < whole)",
        "0",
        of="codec_twice",
    ),
    edit(
        "indices_not_counted",
        "The indices are not counted",
        "2 * d * codec + (P - 1) * (alpha + top_k_bytes(d, k)",
        "d * codec + (P - 1) * (alpha + 4 * k",
        of="codec_twice",
    ),
    edit(
        "indices_of_32_bits",
        "they are packed: top_k_bytes(d, k)",
        "2 * d * codec + (P - 1) * (alpha + top_k_bytes(d, k)",
        "d * codec + (P - 1) * (alpha + 8 * k",
        of="codec_twice",
    ),
    edit(
        "latency_not_charged",
        "The latencies are not charged",
        "2 * d * codec + (P - 1) * (alpha + top_k_bytes",
        "d * codec + (P - 1) * (top_k_bytes",
        of="codec_twice",
    ),
    edit(
        "never_worse", "compressing makes it worse here", "2 * d", "d", "int(seconds(1) < whole)", "1", of="codec_twice"
    ),
    edit(
        "one_latency",
        "One latency is charged",
        "(P - 1) * (alpha + beta * top_k_bytes(d, k)",
        "alpha + (P - 1) * beta * top_k_bytes(d, k",
        "whole < window:",
        "whole <= window:",
        ">= window",
        "> window",
        ") < window",
        ") <= window",
        of="less",
    ),
    whole(
        "one_percent",
        "A fixed share is a habit",
        """
        def how_many_to_send(d, P, alpha, beta, codec, window):
            return max(1, d // 100)
        """,
    ),
    edit(
        "one_transfer",
        "One transfer of the compressed gradient",
        "2 * d * codec + (P - 1) *",
        "d * codec +",
        of="codec_twice",
    ),
]
