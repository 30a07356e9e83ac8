"""Level 1 of chapter 7, predict: bytes that travel, bytes that stay, which method for which sequence."""

from exercises.grading import Exercise, choices, inputs, numbers


def keys(b, s, g, d, P, itemsize):
    """n: bytes of the keys of one rank, of g heads."""
    return b * (s // P) * g * d * itemsize


def collected(b, s, a, g, d, P, itemsize):
    """What a ring and an all-gather send: P - 1 times the keys and values of one rank."""
    return 2 * (P - 1) * keys(b, s, g, d, P, itemsize)


def exchanged(b, s, a, g, d, P, itemsize):
    """What Ulysses sends: all but a P-th of this rank's q, k, v and o."""
    return (P - 1) * 2 * keys(b, s, a + max(g, P), d, P, itemsize) / P


def attention_bytes(method, *sizes):
    """What is right."""
    return exchanged(*sizes) if method == "ulysses" else collected(*sizes)


def of(methods, formula):
    """A slip of these methods; it has no result for others."""

    def slip(method, b, s, a, g, d, P, itemsize):
        if method not in methods:
            raise ArithmeticError
        return formula(b, s, a, g, d, P, itemsize)

    return slip


COLLECT, EXCHANGE = ("ring", "gather"), ("ulysses",)
GIVEN_ALONE = (
    "That is what the rank contributes, once. A ring moves a block on P - 1 times, so what each rank sends is P - 1 "
    "blocks: its own, and those that it passes on. This is the slip of the O(b s a d / P) in many tables."
)
ALL_HEADS = (
    "That is for a heads of keys. Keys and values have g heads, which several queries share: they need not be repeated "
    "before they travel, only where they are used."
)
P_TIMES = "P times: how many blocks does a rank lack when it has its own? Its own comes home again in your count."
BOTH_WAYS = "That is the forward and the backward pass. Asked for is the forward pass alone."
ONE_OF_TWO = "Half of what is right. Keys and values travel, and both are as long."
PER_TOKEN = "Elements are counted and not their bytes: an element has `itemsize` of them."


bytes_of_attention = Exercise(
    cases=inputs.calls(
        ("gather", 2, 4200, 15, 3, 40, 7, 4),
        ("ring", 3, 990, 15, 3, 40, 9, 2),
        ("ulysses", 1, 4800, 48, 6, 64, 12, 8),
        ("ulysses", 1, 4096, 48, 16, 64, 4, 2),
        ("ulysses", 3, 4096, 32, 2, 16, 8, 4),
        ("gather", 1, 65536, 32, 32, 128, 8, 2),
        ("ulysses", 1, 65536, 32, 32, 128, 8, 2),
        ("ring", 5, 131072, 64, 1, 128, 16, 2),
        lambda rng: ("ring", int(rng.integers(1, 9)), 7 * int(rng.integers(9, 99)), 20, 5, 96, 7, 2),
        lambda rng: ("ulysses", int(rng.integers(1, 9)), 16 * int(rng.integers(9, 99)), 48, 4, 80, 16, 2),
        ("ring", 1, 1024, 8, 8, 64, 1, 2),
        ("ulysses", 1, 1024, 8, 8, 64, 1, 2),
        ("gather", 1, 1024, 16, 4, 64, 2, 8),
        names="method b s a g d P itemsize",
    ),
    checks=[
        numbers.Number(
            attention_bytes,
            slips=[
                (of(COLLECT, lambda b, s, a, g, d, P, i: 2 * keys(b, s, g, d, P, i)), GIVEN_ALONE),
                (of(COLLECT, lambda b, s, a, g, d, P, i: 2 * keys(b, s, a, d, P, i)), GIVEN_ALONE),
                (of(COLLECT, lambda b, s, a, g, d, P, i: collected(b, s, a, a, d, P, i)), ALL_HEADS),
                (
                    of(COLLECT, lambda b, s, a, g, d, P, i: collected(b, s, a, 1, d, P, i)),
                    "One head is counted. Keys and values have g of them, each of width d.",
                ),
                (of(COLLECT, lambda b, s, a, g, d, P, i: 2 * P * keys(b, s, g, d, P, i)), P_TIMES),
                (of(COLLECT, lambda b, s, a, g, d, P, i: collected(b, s, a, g, d, P, i) / 2), ONE_OF_TWO),
                (of(COLLECT, lambda *sizes: 3 * collected(*sizes)), BOTH_WAYS),
                (of(EXCHANGE, lambda *sizes: 2 * exchanged(*sizes)), BOTH_WAYS),
                (of(COLLECT, lambda b, s, a, g, d, P, i: collected(b, s, a, g, d, P, 1)), PER_TOKEN),
                (
                    of(COLLECT, lambda b, s, a, g, d, P, i: collected(b, s, a, g, d, P, i) * P),
                    "That is what all ranks send together, or each block is taken for s tokens. A rank has s / P of "
                    "them, and one rank is asked for.",
                ),
                (
                    of(COLLECT, lambda *sizes: collected(*sizes) / sizes[5]),
                    "You have divided by P twice. In the end each rank has met all keys but its own: (P - 1) / P of "
                    "the whole sequence went through its hands.",
                ),
                (
                    of(COLLECT, lambda b, s, a, g, d, P, i: (P - 1) * keys(b, s, a + 2 * g, d, P, i)),
                    "The queries travel in your count. They stay: the output of a query is wanted where it is.",
                ),
                (
                    of(COLLECT, exchanged),
                    "That is what Ulysses sends: a P-th of its tensors for each of the others. Here a whole block is "
                    "sent in each step.",
                ),
                (
                    of(EXCHANGE, collected),
                    "That is what a ring sends. In an all-to-all each rank gets a piece of its own from every other "
                    "one, a P-th of each tensor, and nothing is passed on.",
                ),
                (
                    of(EXCHANGE, lambda b, s, a, g, d, P, i: exchanged(b, s, a, g, d, P, i) * P / (P - 1 or 1)),
                    "All of this rank's q, k, v and o: the P-th part that is for the rank itself is not sent.",
                ),
                (
                    of(EXCHANGE, lambda b, s, a, g, d, P, i: (P - 1) * 2 * keys(b, s, a + max(g, P), d, P, i)),
                    "Whole tensors go to every other rank in your count. Each gets the heads that are its own: how "
                    "many of P parts?",
                ),
                (
                    of(EXCHANGE, lambda b, s, a, g, d, P, i: (P - 1) * 2 * keys(b, s, a + a, d, P, i) / P),
                    "k and v have a heads in your count. They have g, or P if they are fewer than the ranks.",
                ),
                (
                    of(EXCHANGE, lambda b, s, a, g, d, P, i: (P - 1) * 2 * keys(b, s, a + g, d, P, i) / P),
                    "With g heads of keys and more ranks than that, some ranks would get none. How many copies go out?",
                ),
                (
                    of(EXCHANGE, lambda b, s, a, g, d, P, i: (P - 1) * keys(b, s, a + 2 * max(g, P), d, P, i) / P),
                    "q, k and v are there; the output is missing. It must go back to the rank that has its tokens.",
                ),
                (
                    of(EXCHANGE, lambda b, s, a, g, d, P, i: (P - 1) * 2 * keys(b, s, a, d, P, i) / P),
                    "q and o are there, k and v are missing: queries of the whole sequence need keys of all of it.",
                ),
                (
                    of(EXCHANGE, lambda b, s, a, g, d, P, i: (P - 1) * keys(b, s, a + max(g, P), d, P, i) / P),
                    "Half of what is right: two tensors have a heads, q and the output, and two are k and v.",
                ),
                (
                    of(EXCHANGE, lambda b, s, a, g, d, P, i: (P - 1) * 2 * keys(b, s, a + max(g, P), d, P, 1) / P),
                    PER_TOKEN,
                ),
            ],
            otherwise="First: how many bytes are the keys of one rank, with its s / P tokens and g heads? Then: how "
            "many such blocks, or which part of it, leaves the rank?",
            unit="bytes",
        )
    ],
    hints=[
        "Draw four ranks. How many blocks has each of them passed on when all have met all? And what does rank 0 send "
        "to rank 3 in an all-to-all: all of its tensor?",
        "A ring and an all-gather send P - 1 blocks of keys and as many of values. An all-to-all sends P - 1 of P "
        "parts of the rank's own tensor: q and the output of a heads, k and v of g (or P).",
        "n = b (s / P) g d itemsize. A ring: 2 (P - 1) n. Ulysses: (P - 1) / P times the bytes of q, k, v and o on a "
        "rank, where k and v have max(g, P) heads.",
    ],
)


NAMES = ("ring", "gather", "ulysses", "both", "none")
BYTES = (
    "Count in units of one head of one rank's tokens: a ring or an all-gather sends 2 (P - 1) g, Ulysses "
    "2 (P - 1) / P (a + max(g, P))."
)
NO_HEADS = "How many heads does each rank get? They are dealt out whole, as many to each."
NOT_FIT = "Where are the keys and values of the other ranks then? Read again what fits into memory."

which_for_which = Exercise(
    cases=inputs.calls(()),
    checks=[
        choices.Situations(
            dict(zip("ABCDEFG", ("ulysses", "ring", "none", "both", "gather", "ulysses", "ring"))),
            NAMES,
            why={
                ("A", "ring"): f"{BYTES} (The ring's great advantage is that it can be hidden. Here it cannot.)",
                ("A", "gather"): f"{BYTES} It is as much as a ring's.",
                ("A", "both"): "There is one node. What would the ring go between?",
                ("A", "none"): "There is one sequence: the other ranks would have nothing to do.",
                ("B", "gather"): NOT_FIT,
                ("B", "ulysses"): f"{NO_HEADS} 25 and 8 have no common divisor.",
                ("B", "both"): f"{NO_HEADS} The ranks of a node must share 25 of them, and 5 does not divide 8.",
                ("B", "none"): "There is one long sequence, and not even its keys fit on one rank.",
                ("C", "ring"): "What would be cut here? A document fits several times, and each rank has a hundred.",
                ("C", "gather"): "What must be collected, if each rank has whole documents? Attention does not look "
                "from one into another.",
                ("C", "ulysses"): "That would send bytes. With whole documents on each rank, attention sends none.",
                ("C", "both"): "The simplest way that fits is the best. Does a rank need another one's tokens at all?",
                ("D", "ring"): "A ring over all 64 sends 63 blocks from one node to the next through one card, while "
                "seven cards of the node are idle. How could each of the eight carry a part?",
                ("D", "gather"): NOT_FIT,
                ("D", "ulysses"): f"{NO_HEADS} 32 heads, 64 ranks.",
                ("D", "none"): "It is one sequence, and it does not fit on a rank.",
                ("E", "ring"): "Keys come block by block in a ring, each with a mask of its own; and what it would "
                "hide is a hundredth. What puts all keys in one place?",
                ("E", "ulysses"): f"{NO_HEADS} 12 heads of queries, 16 ranks.",
                ("E", "both"): "Where the ring goes round, keys are not in one place, and their masks neither.",
                ("E", "none"): "It is one sequence. The documents in it are no reason to take the ranks away from it.",
                ("F", "ring"): f"{BYTES} 8 heads of keys and 16 ranks are no obstacle: each head goes to two ranks.",
                ("F", "gather"): f"{BYTES} Is 16 times what is repeated twice more or less than a ring's 15 blocks?",
                ("F", "both"): "There is one node. What would the ring go between?",
                ("F", "none"): "There is one sequence: the other ranks would have nothing to do.",
                ("G", "both"): "Its all-to-alls are not hidden either. What is left to wait for with a ring alone?",
                ("G", "none"): "It is one sequence.",
            },
            otherwise=dict.fromkeys(NAMES, "Which method can be used at all, and which of these is asked for?"),
        )
    ],
    hints=[
        "Strike out first. Which cannot be used: for want of heads, of memory, of a second node, of a sequence that is "
        "too long?",
        "Then what is wanted: fewest bytes (count them: the formulas of bytes_of_attention), least time (what is "
        "hidden?), an easy mask.",
        "Two of the seven are Ulysses, two a ring, and each of the other names comes once.",
    ],
)


def linear(b, s, h, a, P):
    """34 bytes an element of this rank's activations."""
    return 34 * b * s * h / P


def rows(b, s, h, a, P):
    """Pairs of a head and a query on a rank."""
    return b * a * s / P


def kept(b, s, h, a, P, blockwise):
    """What is right."""
    return linear(b, s, h, a, P) + (4 if blockwise else 5 * s) * rows(b, s, h, a, P)


def only(wanted, formula):
    """A slip with or without blocks; it has no result for the other case."""

    def slip(b, s, h, a, P, blockwise):
        if blockwise != wanted:
            raise ArithmeticError
        return formula(b, s, h, a, P)

    return slip


def plain(formula):
    """A slip where scores are kept."""
    return only(False, lambda b, s, h, a, P: linear(b, s, h, a, P) + formula(b, s, h, a, P))


def blocks(formula):
    """A slip of blockwise attention."""
    return only(True, lambda b, s, h, a, P: linear(b, s, h, a, P) + formula(b, s, h, a, P))


activation_bytes = Exercise(
    cases=inputs.calls(
        (3, 3072, 896, 7, 6, False),
        (3, 3072, 896, 7, 6, True),
        (1, 131072, 8192, 64, 1, False),
        (1, 131072, 8192, 64, 16, False),
        (1, 131072, 8192, 64, 16, True),
        (1, 131072, 8192, 64, 1, True),
        lambda rng: (int(rng.integers(2, 9)), 8 * int(rng.integers(9, 99)), 960, 12, 8, False),
        lambda rng: (int(rng.integers(2, 9)), 8 * int(rng.integers(9, 99)), 960, 12, 8, True),
        names="b s h a P blockwise",
    ),
    checks=[
        numbers.Number(
            kept,
            slips=[
                (
                    plain(lambda b, s, h, a, P: 5 * b * a * (s / P) ** 2),
                    "s / P queries with s / P keys: that is one block of P. A rank's queries meet the keys of all "
                    "ranks, and the weights of all of these are kept.",
                ),
                (
                    plain(lambda b, s, h, a, P: 5 * b * a * s**2),
                    "The scores of all ranks are in your sum. Each rank keeps those of its own queries.",
                ),
                (
                    plain(lambda b, s, h, a, P: 5 * b * s**2 / P),
                    "That is one head. Each head has scores of its own.",
                ),
                (
                    plain(lambda b, s, h, a, P: 5 * b * h * s**2 / P),
                    "A score is one number for each head, whatever the width: not h of them.",
                ),
                (plain(lambda b, s, h, a, P: 5 * a * s**2 / P), "The scores of one sequence; there are b of them."),
                (plain(lambda b, s, h, a, P: 5 * b * a * s / P), "Pairs of a query and a key: both are many."),
                (
                    plain(lambda b, s, h, a, P: 5 * b * a * s**2 / 2 / P),
                    "Half of the pairs are masked; the whole matrix is kept nevertheless, as the text says.",
                ),
                *[
                    (
                        plain(lambda b, s, h, a, P, each=each: each * b * a * s**2 / P),
                        "Of each score 2 bytes, 1 and 2 are kept: the softmax, a mask, and what dropout has left.",
                    )
                    for each in (1, 2, 3, 4, 10)
                ],
                (
                    only(False, lambda b, s, h, a, P: 34 * b * s * h / P),
                    "The scores are missing: 5 bytes for each head and pair of a query and a key.",
                ),
                (
                    only(True, lambda b, s, h, a, P: 34 * b * s * h / P),
                    "One small thing is missing: the backward pass computes the scores anew, and needs one number a "
                    "row for that.",
                ),
                (
                    only(True, lambda *sizes: kept(*sizes, False)),
                    "With blocks the scores are gone as soon as they are used. What is kept in their place?",
                ),
                (
                    only(False, lambda *sizes: kept(*sizes, True)),
                    "Those are the bytes of blockwise attention. Here the weights are kept.",
                ),
                (
                    blocks(lambda b, s, h, a, P: 4 * b * s / P),
                    "One number for each query, in your sum. Each head has a softmax of its own.",
                ),
                (
                    blocks(lambda b, s, h, a, P: 4 * b * a * s),
                    "The numbers of all ranks' queries. A rank keeps those of its own.",
                ),
                *[
                    (
                        blocks(lambda b, s, h, a, P, each=each: each * b * a * s / P),
                        "A number of 32 bits: how many bytes?",
                    )
                    for each in (1, 2, 5, 8, 32)
                ],
                (
                    lambda b, s, h, a, P, blockwise: kept(b, s, h, a, 1, blockwise),
                    "That is one rank without context parallelism. What does each of P ranks keep?",
                ),
                (
                    lambda b, s, h, a, P, blockwise: (
                        kept(b, s, h, a, P, blockwise) + linear(b, s, h, a, 1) * (1 - 1 / P)
                    ),
                    "The 34 bytes are counted for all tokens. A rank has s / P of them, in every part of the layer.",
                ),
                (
                    lambda b, s, h, a, P, blockwise: 34 * b * s * h * a / P + kept(b, s, 0, a, P, blockwise),
                    "h is the width of all heads together: the 34 bytes are not once more for each head.",
                ),
            ],
            otherwise="Two sums: 34 bytes for each of this rank's elements; then scores, or one number for each of its "
            "rows. How many queries has a rank, how many keys do they meet, and how many heads do?",
            unit="bytes",
        )
    ],
    hints=[
        "Which of the two parts grows with s, and which with its square? Which does P divide?",
        "A rank has b s / P tokens, so b s h / P elements of activations, and b a s / P rows of scores, each s long.",
        "34 b s h / P, and in addition 5 (b a s / P) s for the scores, or 4 (b a s / P) for one number a row.",
    ],
)
