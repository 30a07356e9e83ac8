"""Wrong answers to `commit_index` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("it is one of the nodes, and of the majority"),
    edit("counted_from_0", "Entries are counted from 1, a list from 0", "log[index - 1]", "log[index]"),
    edit("no_return", "also where it stays the same", "return commit", "if with_it:\n    return None"),
    edit("who_has_it", "Return one whole number", "return commit", "return [commit]"),
]
