"""Counts of followers; a chain cannot tell forward from backward, the order of the last step can."""

import pytest

from reference.caching.markov import Guesses, Markov, guesses, in_order

STEP = [*range(10), *reversed(range(10))]  # forward and backward through ten layers


def test_probabilities_are_counts():
    chain = Markov()
    for key in "abacab":
        chain.seen(key)
    assert chain.probability("a", "b") == pytest.approx(2 / 3) and chain.probability("a", "c") == pytest.approx(1 / 3)
    assert chain.probability("b", "a") == 1 and chain.probability("z", "a") == 0
    assert chain.guess("a") == ["b"] and chain.guess("a", 5) == ["b", "c"] and chain.guess("z") == []


def test_e1_26_in_a_static_graph_the_order_is_known_and_a_chain_guesses_half():
    keys = STEP * 5
    assert in_order(keys, len(STEP)) == Guesses(80, 80, 80)
    one, two = guesses(keys, 1, learn=len(STEP)), guesses(keys, 2, learn=len(STEP))
    assert 0.4 < one.covered < 0.6 and two.covered > 0.95  # two guesses cover both directions
    assert two.accuracy < 0.6  # and bring nearly as much in vain
    with_optimizer = [*STEP, *range(10)]  # a third pass, forward again
    assert 0.6 < guesses(with_optimizer * 5, 1, learn=len(with_optimizer)).covered < 0.7


def test_nothing_is_guessed_before_something_was_seen():
    assert guesses([1, 2, 3]) == Guesses(0, 0, 2) and guesses([1, 2, 3]).accuracy == 0
    assert guesses([1, 1, 1, 1]) == Guesses(2, 2, 3)
