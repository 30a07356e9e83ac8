"""Wrong answers to `weight_stash`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "counts_micro_batches",
        "That counts micro-batches",
        "{each for each, _, _ in stash.values()} | {version})",
        "stash) + 1",
    ),
    edit(
        "dropped_late",
        "It is dropped before, if nobody",
        ".pop(i)",
        "[i]",
        "most = max(most, len({each for each, _, _ in stash.values()} | {version}))",
        """
        most = max(most, len({each for each, _, _ in stash.values()} | {version}))
        del stash[i]
        """,
    ),
    edit(
        "flush",
        "that is a flush",
        'most = {}, "the first", 1',
        'most, total = {}, "the first", 1, 0.0',
        "w = w -",
        "total = total +",
        "w.copy()",
        "w - total",
    ),
    edit(
        "forward_again",
        "The forward pass is done again",
        """
        _, used, left = stash.pop(i)
        w = w - rate * backward(used, i, left)
        """,
        """
        stash.pop(i)
        w = w - rate * backward(w, i, forward(w, i))
        """,
    ),
    edit("in_place", "The caller still needs its w", "= w -", "-="),
    edit("latest_not_counted", "The latest version is one, too", "} | {version})", "})"),
    edit(
        "latest_weights",
        "It goes backward with the latest weights",
        """
        _, used, left = stash.pop(i)
        w = w - rate * backward(used, i, left)
        """,
        """
        _, _, left = stash.pop(i)
        w = w - rate * backward(w, i, left)
        """,
    ),
    edit("lost_updates", "The update starts from the version that was kept", "= w -", "= used -"),
    edit(
        "none_dropped",
        "Every version that ever was is counted",
        "= max(most, len({each for each, _, _ in stash.values()} | {version}))",
        "+= 1",
    ),
    edit("only_weights", "Return two things", "), most", ")"),
    edit("uphill", "It goes uphill", "w - rate", "w + rate"),
]
