"""Seconds and live bytes of a schedule, worked out by hand."""

from reference.recompute import Chain, LinkCost, equal_links, keep_all
from reference.recompute.predict import cost, timeline

from .test_chain import AGAIN

CHAIN = Chain((LinkCost(1, 2, 10, 100), LinkCost(2, 4, 20, 200), LinkCost(3, 6, 5, 300)), 7)


def test_a_step_that_keeps_all():
    steps = timeline(CHAIN, keep_all(3))
    assert [step.after for step in steps] == [110, 330, 635, 10 + 300 + 5 + 20, 100 + 5 + 10, 5 + 7]
    assert steps[3].peak == 635 + 20 and cost(CHAIN, keep_all(3)) == (18, 655, 3)


def test_a_step_that_computes_again():
    steps = timeline(CHAIN, AGAIN)
    assert [step.after for step in steps] == [10, 20, 325, 25, 135, 335, 115, 12]
    assert [step.end for step in steps] == [1, 3, 6, 12, 13, 15, 19, 21]
    assert cost(CHAIN, AGAIN) == (21, 355, 5)


def test_a_link_whose_record_has_its_output():
    tanh = LinkCost(1, 2, 10, 0, holds_output=True)
    steps = timeline(Chain((tanh, tanh)), keep_all(2))
    assert [step.after for step in steps] == [10, 20, 10 + 10 + 10, 10]  # a[1] stays, for the record of link 0


def test_equal_links_need_n_plus_two():
    assert cost(equal_links(5), keep_all(5)) == (15, 6, 5)
