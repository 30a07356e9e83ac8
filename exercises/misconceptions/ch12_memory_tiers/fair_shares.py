"""Wrong answers to `fair_shares` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("What one does not use is lost"),
    edit("of_the_link", "Return a list of", "return shares", "return sum(shares)"),
    edit(
        "weight_first",
        "Is a weight taken off before it is used",
        "shares[i] = min",
        "weight -= weights[i]; shares[i] = min",
        "    weight -= weights[i]\n",
        "",
    ),
    edit("rounded", "float64 carries 16 digits", "return shares", "return [round(share, 3) for share in shares]"),
    edit("left_grows", "Pour water into vessels", "left -= shares[i]", "left += shares[i]"),
]
