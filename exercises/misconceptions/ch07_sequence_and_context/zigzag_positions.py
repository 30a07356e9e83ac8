"""Wrong answers to `zigzag_positions`, each with words of the hint that it must earn.

Its checks know the usual layouts and counts by themselves; these go wrong in another way.
"""

from exercises.grading.wrong import edit

WRONG = [
    edit(
        "nobody_returns",
        "Return two things",
        "return positions, sum(position + 1 for position in positions)",
        "return positions",
    ),
    edit("refuses_what_fits", "return (positions, pairs)", "if s % (2 * ranks):", "if s % (4 * ranks):"),
    edit(
        "floats",
        "Positions are whole numbers",
        "u = s // (2 * ranks)",
        "u = s / (2 * ranks)",
        "*range(rank * u, (rank + 1) * u), *range((2 * ranks - 1 - rank) * u, (2 * ranks - rank) * u)",
        "*np.arange(rank * u, (rank + 1) * u), *np.arange((2 * ranks - 1 - rank) * u, (2 * ranks - rank) * u)",
    ),
    edit("one_chunk", "Draw 12 tokens for 3 ranks", ", *range((2 * ranks - 1 - rank) * u, (2 * ranks - rank) * u)", ""),
    edit(
        "token_by_token",
        "You fold token by token",
        "positions = [*range(rank * u, (rank + 1) * u), *range((2 * ranks - 1 - rank) * u, (2 * ranks - rank) * u)]",
        "positions = [p for p in range(s) if p % (2 * ranks) in (rank, 2 * ranks - 1 - rank)]",
    ),
    edit("raises", "nothing is raised", "return None", "raise ValueError(s)"),
]
