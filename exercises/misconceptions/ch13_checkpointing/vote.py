"""Wrong answers to `vote` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("yes_or_no", "Return three things", "return True, term, candidate", "return True"),
    edit("who_gets_it", "It is True or False", "return True, term, candidate", "return candidate, term, candidate"),
    edit("empty_log", "An empty log has no last entry", "(log[-1] if log else 0), len(log)", "log[-1], len(log)"),
]
