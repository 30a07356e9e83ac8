"""Wrong answers to `plan_layout`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

FITS = "16 * parameters / (t * p) > memory"
RULES = "d * t * p != N or per_node % t or heads % t or layers % p or batch % d"

WRONG = [
    edit("no_memory", "replicas hold copies, so d divides nothing", FITS, "False"),
    edit("replicas_divide", "replicas hold copies, so d divides nothing", FITS, "16 * parameters / N > memory"),
    edit(
        "wide_tensor_groups",
        "larger than a node",
        "range(1, per_node + 1)",
        "range(1, N + 1)",
        RULES,
        RULES.replace("per_node % t or ", ""),
    ),
    edit("any_heads", "do not divide the heads", "or heads % t ", ""),
    edit("any_layers", "do not divide the layers", "or layers % p ", ""),
    edit("any_batch", "do not divide the batch", " or batch % d", ""),
    edit("fewer_ranks", "d t p has to be", "d * t * p != N or ", "d < 1 or "),
    edit("no_bubble", "if the pipeline was always full", "(batch // d + p - 1) *", "(batch // d) *"),
    edit("tensor_for_nothing", "if tensor ranks cost nothing", " + reduce * (t - 1) / t * layers / p", ""),
    edit("no_gradients", "if the gradients were not reduced", " + gradients * (d - 1) / d / (t * p)", ""),
    edit("whole_batch", "if each replica did the whole batch", "batch // d + p - 1", "batch + p - 1"),
    edit(
        "powers_of_two",
        "It is the quickest with 1, 2, 4 or 8 tensor ranks",
        "for t in range(1, per_node + 1):",
        "for t in (1, 2, 4, 8):",
    ),
    whole(
        "tensor_first",
        "as many tensor ranks as are possible",
        """
        def plan_layout(N, per_node, layers, heads, batch, parameters, memory, work, reduce, gradients):
            for t in range(per_node, 0, -1):
                for p in range(1, layers + 1):
                    d = N // (t * p)
                    whole = d * t * p == N and not (per_node % t or heads % t or layers % p or batch % d)
                    if whole and 16 * parameters <= memory * t * p:
                        return d, t, p
        """,
    ),
    whole(
        "data_first",
        "as many replicas as fit",
        """
        def plan_layout(N, per_node, layers, heads, batch, parameters, memory, work, reduce, gradients):
            fitting = []
            for t in range(1, per_node + 1):
                for p in range(1, layers + 1):
                    d = N // (t * p)
                    whole = d * t * p == N and not (per_node % t or heads % t or layers % p or batch % d)
                    if whole and 16 * parameters <= memory * t * p:
                        fitting.append((d, t, p))
            return max(fitting, default=None)
        """,
    ),
    edit("seconds", "Return (d, t, p)", "return best", "return shortest"),
]
