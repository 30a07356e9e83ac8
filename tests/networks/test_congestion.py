"""Shares of links: small cases by hand, then what defines max-min fairness, then what Chiu and Jain proved."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi, networks
from reference.networks.congestion import (
    aimd,
    fairness,
    finish_times,
    linear_control,
    max_min,
    on_network,
    strict_priority,
)
from reference.worlds import launch


def test_the_textbook_case():
    """Three flows over link a, one of which goes on over b: the slow b gives a's others more."""
    assert max_min(["a", "a", ["a", "b"]], {"a": 10, "b": 2}).tolist() == [4, 4, 2]


def test_a_chain():
    """One flow over every link, one more on each: the long one is held by the tightest, the others take the rest."""
    assert max_min([["a", "b", "c"], "a", "b", "c"], {"a": 10, "b": 4, "c": 6}).tolist() == [2, 8, 2, 4]


def test_incast():
    """N senders, each with a link of its own, to one port."""
    flows = [[("from", i), "port"] for i in range(8)]
    capacities = {("from", i): 25.0 for i in range(8)} | {"port": 25.0}
    assert max_min(flows, capacities).tolist() == [25 / 8] * 8


def test_weights_and_demand():
    assert max_min(["a", "a"], {"a": 9}, weights=[2, 1]).tolist() == [6, 3]
    assert max_min([["a", "demand of 0"], "a"], {"a": 9, "demand of 0": 1}).tolist() == [1, 8]
    assert max_min([["a", "a"]], {"a": 9}).tolist() == [9]  # a link counts once
    assert max_min([], {"a": 9}).shape == (0,)
    assert max_min(["port", "port"], {"port": 9}).tolist() == [4.5, 4.5]  # a word is one link, not four
    assert strict_priority(["port", "port"], {"port": 9}, [1, 0]).tolist() == [0, 9]
    assert max_min(["a", ("a", "b")], {"a": 9, "b": 0}).tolist() == [9, 0]


def test_strict_priority_starves_the_others():
    capacities = {"a": 10.0, "b": 4.0}
    assert strict_priority(["a", {"a", "b"}, "a"], capacities, [1, 0, 1]).tolist() == [3, 4, 3]
    assert strict_priority(["a", "a"], capacities, [0, 1]).tolist() == [10, 0]
    assert capacities == {"a": 10.0, "b": 4.0}  # left as it was


@st.composite
def situations(draw):
    """(flows, capacities, weights) at random."""
    count = draw(st.integers(1, 6))
    flow = st.sets(st.integers(0, count - 1), min_size=1)
    flows = draw(st.lists(flow, min_size=1, max_size=8))
    capacities = {link: draw(st.floats(0.1, 100.0)) for link in range(count)}
    return flows, capacities, [draw(st.floats(0.1, 10.0)) for _ in flows]


@given(situations())
def test_no_link_is_overloaded_and_every_flow_has_a_bottleneck(situation):
    """The definition by bottlenecks: a full link on which no flow has more, per weight, than this one."""
    flows, capacities, weights = situation
    rates = max_min(flows, capacities, weights)
    used = {link: sum(rates[f] for f in range(len(flows)) if link in flows[f]) for link in capacities}
    assert all(used[link] <= capacities[link] * (1 + 1e-9) for link in capacities)
    full = {link for link in capacities if used[link] >= capacities[link] * (1 - 1e-9)}
    per_weight = rates / np.array(weights)
    for number, links in enumerate(flows):
        assert any(
            per_weight[number] >= max(per_weight[f] for f in range(len(flows)) if link in flows[f]) * (1 - 1e-9)
            for link in full & links
        )


@given(situations(), st.floats(0.01, 100.0))
def test_twice_the_links_are_twice_the_rates(situation, factor):
    flows, capacities, weights = situation
    scaled = max_min(flows, {link: factor * capacity for link, capacity in capacities.items()}, weights)
    assert scaled == pytest.approx(factor * max_min(flows, capacities, weights))


@given(situations(), st.data())
def test_the_first_class_does_not_notice_the_others(situation, data):
    flows, capacities, _ = situation
    classes = data.draw(st.lists(st.integers(0, 2), min_size=len(flows), max_size=len(flows)))
    rates, first = strict_priority(flows, capacities, classes), min(classes)
    mine = [number for number, own in enumerate(classes) if own == first]
    assert rates[mine] == pytest.approx(max_min([flows[number] for number in mine], capacities))
    for link, capacity in capacities.items():
        assert sum(rate for rate, links in zip(rates, flows) if link in links) <= capacity * (1 + 1e-9)


def test_chal_15_ten_readers_of_one_link_take_ten_milliseconds():
    """100 Gbit/s and 12.5 MB each: 1 ms alone. Nothing became slower, it is shared."""
    alone = finish_times(["a"], {"a": 12.5e9}, [12.5e6])
    assert alone == pytest.approx([1e-3])
    assert finish_times(["a"] * 10, {"a": 12.5e9}, [12.5e6] * 10) == pytest.approx([1e-2] * 10)


def test_who_is_done_gives_way():
    assert finish_times(["a", "a"], {"a": 1.0}, [1.0, 3.0]).tolist() == [2.0, 4.0]
    assert finish_times(["a", "a"], {"a": 1.0}, [0.0, 3.0]).tolist() == [0.0, 3.0]


@given(st.lists(st.floats(0.1, 100.0), min_size=1, max_size=8))
def test_sharing_or_waiting_one_link_is_busy_just_as_long(sizes):
    assert finish_times(["a"] * len(sizes), {"a": 2.0}, sizes).max() == pytest.approx(sum(sizes) / 2.0)


def to_other_half(comm):
    half = comm.size // 2
    if comm.rank < half:
        comm.Send(np.zeros(1000), comm.rank + half)
    else:
        comm.Recv(np.zeros(1000), comm.rank - half)
        return mpi.wtime(comm)


@pytest.mark.parametrize("cards", [1, 2, 4])
def test_beside_the_virtual_cluster_sharing_ends_when_waiting_ends_but_all_end_late(cards):
    network = networks.two_level(4, alpha=0.0, beta=1e-10, alpha_out=0.0, beta_out=1e-9, nics=cards)
    waiting = launch(to_other_half, 8, network=network).results[4:]
    sharing = finish_times(*on_network(network, [(r, r + 4) for r in range(4)]), [8000] * 4)
    assert max(waiting) == pytest.approx(max(sharing)) == pytest.approx(8e-6 * 4 / cards)
    assert min(waiting) == pytest.approx(8e-6)  # the first in the queue is served as if it were alone
    assert sharing == pytest.approx([8e-6 * 4 / cards] * 4)


def test_ports_are_shared_on_every_network():
    flows, capacities = on_network(networks.uniform(beta=1e-10), [(1, 0), (2, 0), (3, 4), (5, 6), (5, 7)])
    assert max_min(flows, capacities) == pytest.approx([5e9, 5e9, 10e9, 5e9, 5e9])


two_rates = st.tuples(st.floats(0.1, 50.0), st.floats(0.1, 50.0))


@given(two_rates, st.floats(10.0, 100.0), st.floats(0.5, 2.0), st.floats(0.1, 0.9))
def test_additive_increase_multiplicative_decrease_makes_equal(rates, capacity, increase, decrease):
    history = aimd(rates, capacity, increase, decrease, 2000)
    decreases = int((history[:-1].sum(axis=1) > capacity).sum())
    assert history.shape == (2001, 2)
    assert decreases > 10
    difference = (rates[0] - rates[1]) * decrease**decreases  # each decrease shrinks it, an increase leaves it
    assert history[-1, 0] - history[-1, 1] == pytest.approx(difference, abs=1e-9)
    assert (np.diff(fairness(history)) > -1e-9).all()  # never less fair than before
    assert history[-1000:].sum(axis=1).max() <= capacity + 2 * increase + 1e-9


def test_aimd_by_hand():
    assert aimd([1, 5], 7, 1, 0.5, 3).tolist() == [[1, 5], [2, 6], [1, 3], [2, 4]]


ADDITIVE, MULTIPLICATIVE = ((1.0, 1.0), (-1.0, 1.0)), ((0.0, 1.1), (0.0, 0.5))  # (up, down)


def controlled(up, down):
    history = linear_control([10.0, 30.0], 60.0, up, down, 1000)
    assert (history.sum(axis=1) > 60.0).any()  # the link was full now and then
    return history


def test_additive_both_ways_keeps_the_difference():
    history = controlled(ADDITIVE[0], ADDITIVE[1])
    assert history[:, 1] - history[:, 0] == pytest.approx(np.full(1001, 20.0))
    assert fairness(history).max() < 0.95


def test_multiplicative_both_ways_keeps_the_ratio():
    history = controlled(MULTIPLICATIVE[0], MULTIPLICATIVE[1])
    assert fairness(history) == pytest.approx(np.full(1001, 0.8))


def test_multiplicative_increase_additive_decrease_gives_one_everything():
    history = controlled(MULTIPLICATIVE[0], ADDITIVE[1])
    assert history[-1, 0] == 0.0 and history[-1, 1] > 50.0
    assert fairness(history)[-1] == 0.5


def test_only_additive_increase_multiplicative_decrease_makes_equal():
    assert fairness(controlled(ADDITIVE[0], MULTIPLICATIVE[1]))[-1] == pytest.approx(1.0)


def test_a_rate_never_falls_below_zero():
    assert linear_control([1.0, 9.0], 5.0, (1.0, 1.0), (-4.0, 1.0), 1).tolist() == [[1.0, 9.0], [0.0, 5.0]]


def test_fairness_by_hand():
    assert fairness([1, 1, 1, 1]) == 1.0
    assert fairness([1, 0, 0, 0]) == 0.25
    assert fairness([[1, 1], [3, 1]]).tolist() == [1.0, 0.8]


@given(st.lists(st.floats(0.01, 100.0), min_size=1, max_size=10), st.floats(0.1, 10.0))
def test_fairness_lies_between_1_over_n_and_1_whatever_the_unit(rates, factor):
    index = fairness(rates)
    assert 1 / len(rates) - 1e-12 <= index <= 1 + 1e-12
    assert fairness(factor * np.array(rates)) == pytest.approx(index)


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda: max_min(["a", []], {"a": 1}), "flow 1 crosses no link"),
        (lambda: max_min([["a", "b"]], {"a": 1}), r"flow 0 crosses \['b'\]"),
        (lambda: max_min(["a"], {"a": -1}), "not negative"),
        (lambda: max_min(["a"], {"a": float("inf")}), "finite"),
        (lambda: max_min(["a", "a"], {"a": 1}, [1]), "2 flows need 2 positive weights"),
        (lambda: max_min(["a"], {"a": 1}, [0]), "positive weights"),
        (lambda: strict_priority(["a"], {"a": 1}, [0, 1]), "1 flows need 1 classes, got 2"),
        (lambda: finish_times(["a", "b"], {"a": 1, "b": 0}, [1, 1]), "flow 1 never ends"),
        (lambda: on_network(networks.uniform(beta=0.0), [(0, 1)]), "beta = 0"),
        (lambda: aimd([1], 1, 0, 0.5, 1), "increase must be positive"),
        (lambda: aimd([1], 1, 1, 1.0, 1), "between 0 and 1"),
        (lambda: fairness([0, 0]), "nobody sends"),
    ],
)
def test_nonsense_is_refused(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()
