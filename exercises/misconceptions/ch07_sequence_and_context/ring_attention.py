"""Wrong answers to `ring_attention`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

EXCHANGE = "comm.Sendrecv(held, dest=(rank + 1) % P, recvbuf=coming, source=(rank - 1) % P)"
BOTH = "held = np.stack([k, v])"
SEES = "sees = rank * c + where[:, None] >= source * c + where"
SUM, OUTPUT = "total = alpha * total + weights.sum(axis=1)", "o = alpha[:, None] * o + weights @ held[1]"
MASKED = ("if source <= rank:", "if True:", "alpha, weights", "largest = np.maximum(largest, -1e300); alpha, weights")

WRONG = [
    edit("never_sends", "no rank knows the others' keys", EXCHANGE, "coming[...] = held"),
    edit(
        "all_gather",
        "Allgather does the whole job",
        EXCHANGE,
        """
        every = np.empty((P, *held.shape))
        comm.Allgather(np.stack([k, v]), every)
        coming = every[(rank - step - 1) % P]
        """,
    ),
    edit(
        "all_blocks_in_every_step",
        "the blocks of all ranks are sent",
        *(BOTH, "held = np.stack([k, v]); every = np.zeros((P, *held.shape)); every[rank] = held"),
        "coming = np.empty_like(held)",
        "other = np.empty_like(every)",
        EXCHANGE,
        """
        comm.Sendrecv(every, dest=(rank + 1) % P, recvbuf=other, source=(rank - 1) % P)
        every[(rank - step - 1) % P] = other[(rank - step - 1) % P]
        coming = every[(rank - step - 1) % P]
        """,
    ),
    edit(
        "all_that_has_come",
        "The messages grow",
        *(BOTH, "held = np.stack([k, v]); come = held[None]"),
        "coming = np.empty_like(held)",
        "",
        EXCHANGE,
        """
        more = np.empty((len(come), *held.shape))
        comm.Sendrecv(come, dest=(rank + 1) % P, recvbuf=more, source=(rank - 1) % P)
        come = np.concatenate([np.stack([k, v])[None], more])
        coming = more[-1]
        """,
    ),
    edit(
        "two_messages",
        "k and v went in messages of their own",
        EXCHANGE,
        """
        comm.Sendrecv(held[0], dest=(rank + 1) % P, recvbuf=coming[0], source=(rank - 1) % P)
        comm.Sendrecv(held[1], dest=(rank + 1) % P, recvbuf=coming[1], source=(rank - 1) % P)
        """,
    ),
    edit("one_step_too_many", "P messages: the last one brings the own block home", "if step < P - 1:", "if True:"),
    edit(
        "the_other_way",
        "Your ring turns the other way round",
        *("dest=(rank + 1)", "dest=(rank - 1)", "source=(rank - 1)", "source=(rank + 1)"),
        *("source = (rank - step) % P", "source = (rank + step) % P"),
    ),
    edit(
        "to_everybody",
        "sends straight to every other",
        *("dest=(rank + 1)", "dest=(rank + step + 1)", "source=(rank - 1)", "source=(rank - step - 1)"),
        *(
            "comm.Sendrecv(held",
            "comm.Sendrecv(np.stack([k, v])",
        ),
    ),
    edit("queries_sent", "each block meets its own queries again", BOTH, "held = np.stack([k, v, q])"),
    edit(
        "keys_only",
        "keys without their values",
        EXCHANGE,
        """
        comm.Sendrecv(held[0], dest=(rank + 1) % P, recvbuf=coming[0], source=(rank - 1) % P)
        coming[1] = v
        """,
    ),
    edit(
        "sum_not_rescaled",
        "What was summed under an old maximum stays as it was",
        SUM,
        "total = total + weights.sum(axis=1)",
        OUTPUT,
        "o = o + weights @ held[1]",
    ),
    edit("strict_mask", "sees its own key at least", ">= source * c", "> source * c"),
    edit(
        "one_too_many",
        "sees the token behind it",
        ">= source * c",
        ">= source * c - 1",
        "if source <= rank:",
        "if True:",
    ),
    edit(
        "no_mask", "Every query sees all keys", "if source <= rank:", "if True:", SEES, "sees = np.ones((c, c), bool)"
    ),
    edit(
        "triangle_of_every_block",
        "Every block gets the mask of the own one",
        "if source <= rank:",
        "if True:",
        ">= source * c",
        ">= rank * c",
    ),
    edit(
        "from_the_right",
        "They come from the left: whose was it before?",
        "source = (rank - step) % P",
        "source = (rank + step) % P",
        *MASKED,
    ),
    edit(
        "one_block_too_far",
        "in step 0 it is the own block",
        "source = (rank - step) % P",
        "source = (rank - step - 1) % P",
        *MASKED,
    ),
    edit(
        "one_block_too_few",
        "after one step it is the left neighbour's block",
        "source = (rank - step) % P",
        "source = (rank - step + 1) % P",
        *MASKED,
    ),
    edit("not_scaled", "are not divided by sqrt(d)", " / np.sqrt(q.shape[1])", ""),
    edit("divided_by_d", "are divided by d", "np.sqrt(q.shape[1])", "q.shape[1]"),
    edit("local_length", "d is the width", "np.sqrt(q.shape[1])", "np.sqrt(len(q))"),
    edit(
        "no_maximum",
        "which number makes every exp at most 1?",
        "largest = np.maximum(m, S.max(axis=1))",
        "largest = np.zeros(c)",
    ),
    whole(
        "union",
        "each normalised by itself",
        """
        def ring_attention(comm, q, k, v):
            rank, P, c = comm.rank, comm.size, len(q)
            held, o = np.stack([k, v]), np.zeros_like(q)
            for step in range(P):
                source = (rank - step) % P
                if source <= rank:
                    sees = rank * c + np.arange(c)[:, None] >= source * c + np.arange(c)
                    S = np.where(sees, q @ held[0].T / np.sqrt(q.shape[1]), -np.inf)
                    weights = np.exp(S - S.max(axis=1, keepdims=True))
                    o += weights @ held[1] / weights.sum(axis=1, keepdims=True)
                if step < P - 1:
                    coming = np.empty_like(held)
                    comm.Sendrecv(held, dest=(rank + 1) % P, recvbuf=coming, source=(rank - 1) % P)
                    held = coming
            return o
        """,
    ),
    edit("mean_of_blocks", "whatever their scores", "return o", "return o / P", of="union"),
    edit("own_only", "attention over the rank's own keys alone", "if source <= rank:", "if step == 0:"),
    edit(
        "works_in_q",
        "was changed",
        "q @ held[0].T / np.sqrt(q.shape[1])",
        "np.divide(q, np.sqrt(q.shape[1]), out=q if step == 0 else None) @ held[0].T if step == 0 else q @ held[0].T",
    ),
]
