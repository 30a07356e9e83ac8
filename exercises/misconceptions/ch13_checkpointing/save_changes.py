"""Wrong answers to `save_changes`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

SAVED = "saved[begin : begin + size] = part"

WRONG = [
    shipped("Nothing is ever saved: the weights are compared with themselves"),
    edit("views", "slices of an array are views", "part.copy()", "part"),
    edit(
        "same_memory",
        "Nothing is ever saved: the weights are compared with themselves",
        "weights.copy(), []",
        "weights, []",
    ),
    edit(
        "step_before",
        "Changes that are each below the limit add up",
        SAVED,
        "",
        "saves.append(save)",
        """
        saves.append(save)
        saved = weights.copy()
        """,
    ),
    edit("first_save", "Compared with the very first save", SAVED, ""),
    edit(
        "whole_blocks",
        "The last block has fewer elements",
        "range(0, len(weights), size)",
        "range(0, len(weights) // size * size, size)",
    ),
    edit(
        "no_block",
        "There is no block without elements",
        "range(0, len(weights), size)",
        "range(0, len(weights) + size, size)",
    ),
    edit("one_dictionary", "one for each step", "return saves", "return saves[-1] if saves else {}"),
    edit("by_element", "They are numbered 0 to", "save[begin // size]", "save[begin]"),
    edit(
        "sum_of_changes",
        "Keep a copy of what somebody has",
        "np.abs(part - saved[begin : begin + size]).max()",
        "np.abs(part - saved[begin : begin + size]).sum()",
    ),
    edit(
        "a_step_more", "So many steps are to be done", "for _ in range(steps):", "step(weights)\nfor _ in range(steps):"
    ),
    edit("lists", "an array of float64", "part.copy()", "list(part)"),
]
