"""Wrong answers to `room_for_execution` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("both", "Return one number, in ms", "return max(0, room) * (1 - reserve)", "return room, reserve"),
    edit("reserve_added", "For one C you can compute R", "(1 - reserve)", "(1 + reserve)"),
]
