"""Wrong answers to `room_for_execution` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("both", "Return one number, in ms", "return max(0, room) * (1 - reserve)", "return room, reserve"),
    edit("reserve_added", "For one C you can compute R", "(1 - reserve)", "(1 + reserve)"),
    whole(
        "one_by_one",
        "Not each C need be tried",
        """
        def room_for_execution(D, above, slice_ms, below, reserve):
            blocked = slice_ms if below else 0
            for C in range(D, 0, -1):
                R, longer = 0, blocked + C
                while R < longer <= D:
                    R = longer
                    longer = blocked + C + sum(-(-R // T) * each for each, T in above)
                if longer <= D:
                    return C * (1 - reserve)
            return 0
        """,
    ),
]
