"""Wrong answers to `mask_of_block`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("Print the mask of one rank with four tokens"),
    edit(
        "integers",
        "Return an array of bool",
        "return queries[:, None] >= keys[None, :]",
        "return (queries[:, None] >= keys[None, :]) * 1",
    ),
    edit(
        "as_a_list",
        "Return one NumPy array of bool",
        "return queries[:, None] >= keys[None, :]",
        "return (queries[:, None] >= keys[None, :]).tolist()",
    ),
    edit(
        "turned_and_exchanged",
        "a key is asked whether it stands behind a query",
        "return queries[:, None] >= keys[None, :]",
        "return keys[:, None] >= queries[None, :]",
    ),
    edit(
        "whole_blocks",
        "compare positions of queries (down)",
        "queries = rank * c + np.arange(c)",
        "queries = rank * c + np.arange(c) // 2",
    ),
]
