"""Two thresholds and patience."""

from itertools import pairwise

import numpy as np
import pytest

from reference.rebalance import Trigger


def changes(states):
    return sum(a != b for a, b in pairwise(states))


def test_patience_and_both_thresholds():
    trigger = Trigger(high=0.2, low=0.05, patience=3)
    seen = [trigger.update(x) for x in (0.3, 0.3, 0.1, 0.3, 0.3, 0.3, 0.1, 0.06, 0.04, 0.1)]
    assert seen == [False] * 5 + [True] * 3 + [False] * 2


@pytest.mark.parametrize("seed", range(3))
def test_one_threshold_chatters_and_two_do_not(seed):
    around = 0.2 + np.random.default_rng(seed).normal(0, 0.03, 400)
    one, two = Trigger(0.2, 0.2, 1), Trigger(0.2, 0.05, 1)
    assert changes([one.update(x) for x in around]) > 100
    assert changes([two.update(x) for x in around]) <= 1


@pytest.mark.parametrize("seed", range(3))
def test_hiccups_shorter_than_the_patience_are_ignored(seed):
    signal = np.zeros(500)
    for begin in np.random.default_rng(seed).choice(np.arange(0, 490, 20), 10, replace=False):
        signal[begin : begin + 9] = 1.0
    patient, quick = Trigger(patience=10), Trigger(patience=1)
    assert not any(patient.update(x) for x in signal) and any(quick.update(x) for x in signal)


@pytest.mark.parametrize("bad", [(0.1, 0.2, 1), (0.2, -0.1, 1), (0.2, 0.1, 0)])
def test_bad_thresholds(bad):
    with pytest.raises(ValueError, match="low <= high"):
        Trigger(*bad)
