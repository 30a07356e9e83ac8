"""Wrong answers to `my_share`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

SIZE = "len(batch) // ranks + (r < len(batch) % ranks)"
DEALT = "order[step * size :][:size][rank::ranks]"

WRONG = [
    shipped("A blank is not filled in yet"),
    edit("rounds_up", "Each share is rounded up", SIZE, "-(-len(batch) // ranks)"),
    edit(
        "pads_by_repeating",
        "Are some repeated so that all shares are equally long?",
        "return batch[",
        "return (batch * ranks)[",
        of="rounds_up",
    ),
    edit("drops_the_remainder", "it would be lost in this epoch", SIZE, "len(batch) // ranks"),
    edit(
        "remainder_to_the_last",
        "All wait for the rank that has most",
        *("(r <", "(r == ranks - 1) * (", "% ranks)", "% ranks)"),
    ),
    edit(
        "steps_of_one", "where in the order does that of step", "step * size : step * size + size", "step : step + size"
    ),
    edit(
        "begins_too_early",
        "How many samples do all lower ranks have together?",
        "sum(sizes[:rank])",
        "rank * sizes[rank]",
    ),
    edit("whole_batch", "Every rank has the whole batch", "[rank::ranks]", "", of="again"),
    edit(
        "by_rank_in_the_epoch",
        "Share out the batch of a step",
        DEALT,
        "order[rank::ranks][step * -(-size // ranks) :][: -(-size // ranks)]",
        of="again",
    ),
    edit(
        "fills_up_the_last_batch",
        "of other steps, which then come twice in the epoch",
        "order[step",
        "(order * 2)[step",
        of="again",
    ),
    edit("places", "Which samples stand there?", "order[step", "list(range(len(order)))[step"),
    edit(
        "a_set",
        "Return a list of sample numbers",
        "return batch[first : first + sizes[rank]]",
        "return {*batch[first : first + sizes[rank]]}",
    ),
    edit(
        "whole_batches_only",
        "The last batch is smaller than the others",
        "step * size + size]",
        "step * size + size if step < len(order) // size else 0]",
    ),
    edit("in_order", ".append() and .reverse() change the list", "batch = order", "order.sort(); batch = order"),
    edit(
        "element_by_element",
        "A list's elements are numbered from 0",
        *("batch[first : first + sizes[rank]]", "[batch[first + k] for k in range(-(-len(batch) // ranks))]"),
    ),
]
