"""Schedules of recomputation as data: what is right, and why another one is not."""

import pytest

from reference.recompute import Chain, LinkCost, backward, equal_links, forward, free, keep_all
from reference.recompute.chain import check

AGAIN = [
    forward(0, "input"),
    forward(1),
    forward(2, "all"),
    backward(2),
    forward(0, "all"),
    forward(1, "all"),
    backward(1),
    backward(0),
]


@pytest.mark.parametrize("operations", [keep_all(3), AGAIN, [*keep_all(3)[:1], *keep_all(3)[1:]]])
def test_schedules_that_are_right(operations):
    check(3, operations)


@pytest.mark.parametrize(
    "operations, why",
    [
        ([forward(1)], r"operation 0, forward 1 nothing: a\[1\] is not there"),
        ([forward(0), forward(0)], r"operation 1, forward 0 nothing: a\[0\] is not there"),
        ([forward(0, "all"), free(0)], r"free 0: the record of link 0 needs a\[0\]"),
        ([forward(0, "all"), forward(0)], r"the record of link 0 needs a\[0\]"),
        ([forward(0, "some")], "a forward pass keeps nothing, input, all"),
        ([forward(2)], "there is no such operation"),
        ([("sideways", 0, "")], "there is no such operation"),
        ([*keep_all(2)[:2], backward(0)], "backward 0: link 1 is the next to go backward"),
        ([forward(0, "all"), backward(1)], "the chain has not been computed to its end"),
        ([forward(0, "all"), forward(1), backward(1)], "no forward pass of this link has kept all"),
        ([forward(0, "all"), forward(1, "all"), forward(0, "all")], r"a\[1\] is in the record of link 1"),
        ([*keep_all(2), backward(0)], "all have gone back"),
        (keep_all(2)[:3], "the schedule ends before link 0 has gone backward"),
    ],
)
def test_schedules_that_are_wrong(operations, why):
    with pytest.raises(ValueError, match=why):
        check(2, operations)


def test_what_an_operation_takes():
    chain = Chain((LinkCost(1, 2, 10, 30), LinkCost(3, 5, 4, 7, False, 40, 50, 60)), 8)
    every = [forward(0), forward(0, "input"), forward(0, "all"), backward(0), free(0)]
    assert [chain.seconds(one) for one in every] == [1, 1, 1, 2, 0]
    assert [chain.peak(one) for one in every] == [10, 10, 40, 8, 0]
    assert [chain.peak(one._replace(i=1)) for one in every] == [40, 40, 50, 60, 0]
    assert [chain.value(i) for i in range(3)] == [0, 10, 4] and [chain.gradient_of(i) for i in range(3)] == [8, 10, 0]
    assert equal_links(3).n == 3 and equal_links(3).gradient_of(0) == 1
