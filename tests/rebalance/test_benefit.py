"""Cost against benefit."""

import math

import pytest

from reference.rebalance import MoveCost, Transfer, benefit, break_even
from reference.rebalance.benefit import saved


def test_seconds_of_a_move_are_those_of_the_busiest_port():
    cost = MoveCost(unit_bytes=1e9, bandwidth=10e9, pause=0.5)
    assert cost.seconds([]) == 0
    assert cost.seconds([Transfer(0, 1, 3), Transfer(0, 2, 4), Transfer(3, 2, 1)]) == pytest.approx(0.7 + 0.5)
    assert cost.seconds([Transfer(0, 2, 3), Transfer(1, 2, 4)]) == pytest.approx(0.7 + 0.5)  # the receiver's
    assert cost._replace(exposed=0.0).seconds([Transfer(0, 1, 3)]) == 0.5
    assert MoveCost().seconds([Transfer(0, 1, 1)]) == 0


def test_saved_seconds():
    assert saved([16] * 4, [19, 18, 18, 9], [1, 1, 1, 0.5]) == 13
    assert saved([19, 18, 18, 9], [16] * 4, [1, 1, 1, 0.5]) == -13


def test_e1_57_saved_seconds_a_step_need_the_number_of_steps():
    """T_saved - T_migration with both as they are measured says no, whatever is left; the right one depends on it."""
    per_step, migration = 2.0 - 8 / 7, 30.0
    assert per_step - migration < 0
    assert break_even(per_step, migration) == pytest.approx(35.0)
    assert benefit(per_step, 34, migration) < 0 < benefit(per_step, 36, migration)
    assert benefit(per_step, 1000, migration) == pytest.approx(827.1, abs=0.1)
    assert break_even(0.0, 1.0) == break_even(-1.0, 1.0) == math.inf
