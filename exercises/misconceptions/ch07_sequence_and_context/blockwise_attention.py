"""Wrong answers to `blockwise_attention`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

SEES = "sees = positions[:, None] >= start + np.arange(len(k))"
SCORES = "q @ k.T / np.sqrt(q.shape[1])"
SUM, OUTPUT = "total = alpha * total + P.sum(axis=1)", "o = alpha[:, None] * o + P @ v"
RETURN = "return o / np.where(total > 0, total, 1.0)[:, None], m + np.log(total)"
MERGED = "o = np.exp(L - base)[:, None] * o + np.exp(S - base[:, None]) @ v"
WRONG = [
    edit("sum_not_rescaled", "The sum of the exponentials is not rescaled", SUM, "total = total + P.sum(axis=1)"),
    edit("output_not_rescaled", "The output so far is not rescaled", OUTPUT, "o = o + P @ v"),
    edit(
        "nothing_rescaled",
        "what was summed under the old one stays as it was",
        *(SUM, "total = total + P.sum(axis=1)", OUTPUT, "o = o + P @ v"),
    ),
    edit("no_mask", "Every query sees all keys", SEES, "sees = np.ones((len(q), len(k)), bool)"),
    edit(
        "stops_at_the_future",
        "Blocks come in no particular order",
        SEES,
        f"if start >= first + len(q):\n    break\n{SEES}",
    ),
    edit("large_negative_number", "Do you mask with a large negative number?", f"{SCORES}, -np.inf", f"{SCORES}, -1e9"),
    edit("strict_mask", "does not see the key at its own position", ">= start", "> start"),
    edit("one_too_many", "looks up what it should predict", ">= start", ">= start - 1"),
    edit("wrong_way_round", "the wrong way round: queries see the future", ">= start", "<= start"),
    edit(
        "mask_of_the_block",
        "compares places in the block",
        "first + np.arange(len(q))",
        "np.arange(len(q))",
        "start + np",
        "np",
    ),
    edit("not_scaled", "are not divided by sqrt(d)", SCORES, "q @ k.T"),
    edit("divided_by_d", "are divided by d", SCORES, "q @ k.T / q.shape[1]"),
    edit("multiplied", "are multiplied by sqrt(d)", SCORES, "q @ k.T * np.sqrt(q.shape[1])"),
    edit("L_is_the_maximum", "Your L is the largest score", "m + np.log(total)", "m"),
    edit(
        "L_without_the_maximum",
        "taken under the maximum: what had been subtracted?",
        "m + np.log(total)",
        "np.log(total)",
    ),
    edit(
        "nothing_seen",
        "Which query sees no key",
        "base = np.where(np.isneginf(largest), 0.0, largest)",
        "base = largest",
    ),
    edit(
        "no_maximum",
        "which number makes every exp at most 1?",
        "largest = np.maximum(m, S.max(axis=1))",
        "largest = np.zeros(len(q))",
    ),
    edit("one_array", "Return two arrays", RETURN, "return o / np.where(total > 0, total, 1.0)[:, None]"),
    whole(
        "union",
        "as many averages as there are blocks",
        """
        def blockwise_attention(q, first, blocks):
            positions = first + np.arange(len(q))
            o, L = np.zeros_like(q), np.full(len(q), -np.inf)
            for k, v, start in blocks:
                sees = positions[:, None] >= start + np.arange(len(k))
                S = np.where(sees, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
                m = np.maximum(S.max(axis=1, keepdims=True), -1e300)
                P = np.exp(S - m)
                o += P @ v / np.maximum(P.sum(axis=1, keepdims=True), 1e-300)
                L = np.logaddexp(L, np.logaddexp.reduce(S, axis=1))
            return o, L
        """,
    ),
    edit(
        "the_last_block_only",
        "Only the last block is left",
        MERGED,
        "o = np.exp(S - np.maximum(np.logaddexp.reduce(S, axis=1), -1e300)[:, None]) @ v",
        of="again",
    ),
    whole(
        "all_keys",
        "Something is kept of every block",
        """
        def blockwise_attention(q, first, blocks):
            every = list(blocks)
            keys = np.concatenate([np.zeros((0, q.shape[1])), *(k for k, _, _ in every)])
            values = np.concatenate([np.zeros((0, q.shape[1])), *(v for _, v, _ in every)])
            where = np.concatenate([np.zeros(0), *(start + np.arange(len(k)) for k, _, start in every)])
            S = q @ keys.T / np.sqrt(q.shape[1])
            S[first + np.arange(len(q))[:, None] < where] = -np.inf
            m = np.maximum(S.max(axis=1, initial=-np.inf), -1e300)
            P = np.exp(S - m[:, None])
            total = P.sum(axis=1)
            with np.errstate(divide="ignore"):
                return P @ values / np.where(total > 0, total, 1.0)[:, None], m + np.log(total)
        """,
    ),
    whole(
        "two_passes",
        "what was summed under an old maximum is rescaled",
        """
        def blockwise_attention(q, first, blocks):
            positions, L = first + np.arange(len(q)), np.full(len(q), -np.inf)
            for k, v, start in blocks:
                sees = positions[:, None] >= start + np.arange(len(k))
                S = np.where(sees, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
                L = np.logaddexp(L, np.logaddexp.reduce(S, axis=1))
            o, base = np.zeros_like(q), np.where(np.isneginf(L), 0.0, L)
            for k, v, start in blocks:
                sees = positions[:, None] >= start + np.arange(len(k))
                S = np.where(sees, q @ k.T / np.sqrt(q.shape[1]), -np.inf)
                o += np.exp(S - base[:, None]) @ v
            return o, L
        """,
    ),
]
