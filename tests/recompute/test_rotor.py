"""The dynamic programme: the best persistent schedule, within its bytes, down to the proved least."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.recompute import Chain, LinkCost, equal_links, keep_all
from reference.recompute.binomial import revolve
from reference.recompute.brute_force import quickest_chain
from reference.recompute.periodic import periodic
from reference.recompute.predict import cost
from reference.recompute.rotor import ChainTable, least_bytes, rotor

from ..examples import examples
from .chains import DROPS_A_CHECKPOINT, chains


def budgets(chain):
    """From the least bytes to what keeping all takes."""
    return st.integers(least_bytes(chain), cost(chain, keep_all(chain.n)).peak)


@given(st.data())
@examples(12)
def test_within_the_budget_and_as_quick_as_the_best_of_all(data):
    chain = data.draw(chains(3))
    budget = data.draw(budgets(chain))
    found = cost(chain, rotor(chain, budget))
    assert found.peak <= budget
    assert found.seconds == quickest_chain(chain, budget)[0]  # up to 3 links the best is persistent


@given(st.data())
@examples(6)
def test_below_the_least_bytes_nothing_fits_at_all(data):
    chain = data.draw(chains(3))
    least = least_bytes(chain)
    assert cost(chain, rotor(chain, least)).peak == least
    assert quickest_chain(chain, least - 1) is None
    with pytest.raises(ValueError, match=f"{chain.n} links fits into {least - 3} bytes: 3 are missing"):
        rotor(chain, least - 3)


@given(st.data())
def test_never_slower_than_periodic_or_revolve_with_the_same_bytes(data):
    chain = data.draw(chains(9))
    n, table = chain.n, ChainTable(chain)
    rivals = [periodic(n, k) for k in range(1, n + 1)] + [revolve(n, c) for c in range(1, n + 1)]
    for rival in (cost(chain, one) for one in rivals):
        assert cost(chain, table.schedule(rival.peak)).seconds <= rival.seconds


def test_a_checkpoint_that_is_dropped_and_made_again_can_be_quicker():
    seconds, operations = quickest_chain(DROPS_A_CHECKPOINT, 17)
    assert seconds == 31 == cost(DROPS_A_CHECKPOINT, rotor(DROPS_A_CHECKPOINT, 17)).seconds - 1
    kept = operations.index(("forward", 1, "input"))
    assert ("forward", 1, "nothing") in operations[kept:]  # not persistent: a[1] was kept, and goes before backward 1


def test_with_room_for_all_nothing_is_computed_twice():
    chain = equal_links(7, internals=5)
    assert rotor(chain, cost(chain, keep_all(7)).peak) == keep_all(7)


@pytest.mark.parametrize("points", [2, 10, 200])
def test_with_fewer_steps_it_fits_and_is_no_quicker(points):
    chain = Chain(tuple(LinkCost(1 + i % 3, 2, 1009 + 13 * i, 4999 + 101 * i) for i in range(12)), 1009)
    whole, few = ChainTable(chain), ChainTable(chain, points)
    assert few.peaks[0] == whole.peaks[0] == least_bytes(chain) and len(few.peaks) <= points
    for budget in (int(whole.peaks[0]), int(whole.peaks[-1]) // 2, int(whole.peaks[-1])):
        found, best = cost(chain, few.schedule(budget)), cost(chain, whole.schedule(budget))
        assert found.peak <= budget and found.seconds >= best.seconds


@given(chains(5))
@examples(8)
def test_the_curve_is_that_of_its_schedules(chain):
    table = ChainTable(chain)
    for peak, seconds in zip(table.peaks, table.seconds):
        found = cost(chain, table.schedule(int(peak)))
        assert found.peak == peak and found.seconds == pytest.approx(seconds, rel=1e-6)


def test_links_that_are_alike_are_worked_out_once():
    table = ChainTable(equal_links(30, internals=7))
    assert len({id(steps) for steps in table.steps.values()}) == 2 * 30 - 1  # by length; the last link's have no d[n]


def test_pieces_that_differ_in_the_first_gradient_only_are_not_alike():
    chain = Chain(equal_links(5, internals=2).links, 9)
    table = ChainTable(chain)
    assert table.steps[0, 3].bytes[0] > table.steps[1, 4].bytes[0]
    assert cost(chain, table.schedule(int(table.peaks[0]))).peak == table.peaks[0]


def test_what_a_link_reads_counts_while_it_is_passed():
    """The largest sum is met on the way: a[1] and a[2] beside the large d[4], for links behind which little is live."""
    outputs = (6, 6, 1, 9, 1, 3)
    chain = Chain(tuple(LinkCost(2, 1, output, 0) for output in outputs), 2)
    assert least_bytes(chain) == 23 == cost(chain, rotor(chain, 23)).peak
