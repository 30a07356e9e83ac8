"""Wrong answers to `how_late`, each with words of the hint that it must earn. Others are slips of its check."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "clock_of_whole_seconds",
        "from push to push",
        """
        def how_late(seconds, updates):
            read, late, now = [0] * len(seconds), [], 0
            while len(late) < updates:
                now += 1
                for worker, each in enumerate(seconds):
                    if now % each == 0 and len(late) < updates:
                        late.append(len(late) - read[worker])
                        read[worker] = len(late)
            return late
        """,
    ),
    edit(
        "in_seconds",
        "Both are numbers of one counter",
        *("late.append(done - version[worker])", "late.append(time - version[worker])"),
        *("version[worker] = done + 1", "version[worker] = time"),
    ),
    edit("too_many", "may be beyond the last update", "[:updates]", "[: updates + 1]", of="again"),
    edit("each_once", "Who pushes again and again", "range(1, updates + 1)", "[1]", of="again"),
]
