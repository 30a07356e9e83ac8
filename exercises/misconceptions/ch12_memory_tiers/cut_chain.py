"""Wrong answers to `cut_chain` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("least_bytes", "Return a list of the numbers of layers", "return cuts", "return best[0]"),
    edit("without_layer_0", "The first segment begins with layer 0", "return cuts", "return cuts[1:]"),
    edit("from_the_end", "The first layers of the segments ascend", "return cuts", "return [0, *cuts[:0:-1], 0]"),
    edit("with_the_end", "The last layer is", "return cuts", "return [*cuts, n]"),
    edit("greedy", "Which j is best", "return cuts", "return cuts[: len(cuts) // 2 + 1]"),
    whole(
        "tries_all",
        "There are too many ways to cut to try all of them",
        """
        def cut_chain(inputs, internals):
            def least(i, kept):
                if i == len(inputs):
                    return 0, []
                best, segment = (math.inf, []), -inputs[i]
                for j in range(i + 1, len(inputs) + 1):
                    segment += inputs[j - 1] + internals[j - 1]
                    peak, cuts = least(j, kept + inputs[i])
                    best = min(best, (max(peak, kept + inputs[i] + segment), [i, *cuts]))
                return best

            return least(0, 0)[1]
        """,
    ),
]
