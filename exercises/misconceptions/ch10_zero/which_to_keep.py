"""Wrong answers to `which_to_keep` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("how_long", "Return a list of the numbers of units", "return best[room][1]", "return best[room][0]"),
    edit("keeps_all", "All units that are kept are there at once", "best[room][1]", "list(range(len(size)))"),
    edit("again_and_again", "Each unit is kept once", "range(room, bytes - 1, -1)", "range(bytes, room + 1)"),
    whole(
        "tries_all",
        "There are too many choices to try all of them",
        """
        def which_to_keep(gather, backward, size, room):
            waits = [max(0, g - b) for g, b in zip(gather, [*backward[1:], 0])]
            best, kept = -1, []
            for bits in range(2 ** len(size)):
                units = [unit for unit in range(len(size)) if bits >> unit & 1]
                saved = sum(waits[unit] for unit in units)
                if sum(size[unit] for unit in units) <= room and saved > best:
                    best, kept = saved, units
            return kept
        """,
    ),
]
