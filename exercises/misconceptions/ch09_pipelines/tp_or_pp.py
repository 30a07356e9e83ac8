"""Wrong answers to `tp_or_pp`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "bubble_of_one_rank_alone",
        "if it has a P-th of the layers",
        """
        def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
            n = 2 * batch * s * h
            tp, pp = 8 * layers * (P - 1) * n / P, 2 * n
            return tp, pp, "TP" if tp / bandwidth < seconds * (P - 1) / m else "PP"
        """,
    ),
    whole(
        "one_layer",
        "That is one layer",
        """
        def tp_or_pp(P, layers, batch, s, h, m, seconds, bandwidth):
            n = 2 * batch * s * h
            tp, pp = 8 * (P - 1) * n / P, 2 * n
            return tp, pp, "TP" if tp / bandwidth < seconds / P * (P - 1) / m else "PP"
        """,
    ),
    edit(
        "fewer_bytes_win",
        "Fewer bytes, but a bubble",
        'TP" if tp / bandwidth < seconds * (P - 1) / m else "',
        "",
        of="bubble_of_one_rank_alone",
    ),
    edit("forward_only", "Sums are made in the backward pass, too", "= 8 *", "= 4 * layers *", of="one_layer"),
    edit(
        "messages_cost_time",
        "they cost no time here",
        "* (P - 1) / m",
        "/ P * (P - 1) / m + pp / bandwidth",
        of="bubble_of_one_rank_alone",
    ),
    edit(
        "no_bubble_wins",
        "No bubble, but sums to wait for",
        '" if tp / bandwidth < seconds * (P - 1) / m else "PP"',
        '"',
        of="bubble_of_one_rank_alone",
    ),
    edit(
        "numbers_not_bytes",
        "How many bytes has each?",
        "= 2 * batch",
        "= batch",
        "seconds * (",
        "seconds / P * (",
        of="bubble_of_one_rank_alone",
    ),
    edit("one_sum_forward", "A quarter of what is right", "= 8 *", "= 2 * layers *", of="one_layer"),
    edit(
        "pp_all_boundaries",
        "what all ranks together send",
        "(P - 1) * n / P, 2 * n",
        "layers * (P - 1) * n / P, 2 * n * (P - 1)",
        of="one_layer",
    ),
    edit(
        "pp_every_layer",
        "Between the layers of one rank",
        "(P - 1) * n / P, 2 * n",
        "layers * (P - 1) * n / P, 2 * n * layers // P",
        of="one_layer",
    ),
    edit(
        "pp_forward_only",
        "has a neighbour on either side",
        "(P - 1) * n / P, 2 *",
        "layers * (P - 1) * n / P,",
        of="one_layer",
    ),
    edit(
        "pp_one_micro_batch",
        "A step has m of them",
        "(P - 1) * n / P, 2 * n",
        "layers * (P - 1) * n / P, 2 * n // m",
        of="one_layer",
    ),
    edit(
        "pp_pth",
        "A pipeline cuts between layers",
        "(P - 1) * n / P, 2 * n",
        "layers * (P - 1) * n / P, 2 * n // P",
        of="one_layer",
    ),
    edit("pp_received", "has been sent by others", "(P - 1) * n / P, 2", "layers * (P - 1) * n / P, 4", of="one_layer"),
    edit(
        "pp_whole_batch_each_time",
        "The whole batch is counted for each",
        "(P - 1) * n / P, 2 * n",
        "layers * (P - 1) * n / P, 2 * n * m",
        of="one_layer",
    ),
    edit(
        "pth_of_the_layers", "Every rank has a part of every layer", "8 * (P -", "8 * layers / P * (P -", of="one_layer"
    ),
    edit("recomputes", "computed a second time", "= 8 *", "= 12 * layers *", of="one_layer"),
    edit(
        "share_of_the_bubble",
        "is of PP's own step",
        "* (P - 1) / m",
        "/ P * (P - 1) / (m + P - 1)",
        of="bubble_of_one_rank_alone",
    ),
    edit("sum_sends_n", "in each of 2 (P - 1) steps a P-th", "8 * (P - 1) * n / P", "4 * layers * n", of="one_layer"),
    edit(
        "sums_are_hidden",
        "not hidden behind computing",
        "if tp / bandwidth < seconds * (P",
        "if max(seconds / P, tp / bandwidth) < seconds / P * (m + P",
        of="bubble_of_one_rank_alone",
    ),
    edit(
        "sums_gradients",
        "Tensor parallelism sums no gradients of weights",
        "8 * (P - 1) * n",
        "2 * (P - 1) / P * 2 * 12 * layers * h * h",
        of="one_layer",
    ),
    edit("without_tokens", "s is missing", "s * h", "h", "seconds *", "seconds / P *", of="bubble_of_one_rank_alone"),
]
