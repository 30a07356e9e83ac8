"""Wrong answers to `who_runs` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("Nobody can run"),
    edit("a_list", "Return a string", "return log", "return list(log)"),
    edit("no_inheritance", "A middle task runs while a high one waits", "key=key.get", "key=rank.get"),
    edit("kept_to_the_end", "was the lock given back too late", "if left[who][:1] != lock:", "if not left[who]:"),
    edit("one_late", "may run in millisecond t", "release <= len(log)", "release < len(log)"),
    edit("does_not_wait", "It has to wait", "holder.get(left[name][0], name) == name", "True"),
    edit(
        "until_idle",
        "in the first millisecond that differs".capitalize(),
        "not ready",
        "len(ready) < 2 and len(log) < 1",
    ),
]
