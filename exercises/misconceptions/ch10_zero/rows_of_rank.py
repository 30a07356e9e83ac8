"""Wrong answers to `rows_of_rank` that its checks do not know by themselves."""

from exercises.grading.wrong import edit

WRONG = [
    edit("fractions", "Rows and elements are whole numbers", "-(-rows // P)", "rows / P"),
    edit("pieces_alone", "Return (pieces, length)", "return pieces, length", "return pieces"),
    edit("unbounded", "how many rows are left for it", "mine = min(block, rows - first)", "mine = block"),
]
