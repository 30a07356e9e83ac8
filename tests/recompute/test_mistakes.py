"""What comes out of the formulas that are often written down, and that it is not what they are used for."""

import pytest

from reference.recompute import Chain, LinkCost, equal_links
from reference.recompute.chain import forward
from reference.recompute.mistakes import best_segments, cuts, density, segment_sums, store_least
from reference.recompute.periodic import best_period, periodic
from reference.recompute.predict import cost
from reference.recompute.rotor import least_bytes, rotor

MEMORY, SECONDS = [9, 2, 7, 1, 4], [3, 8, 1, 6, 2]


def test_e1_22_the_sum_over_segments_is_the_same_for_every_choice():
    assert len(list(cuts(5))) == 16 and segment_sums(MEMORY, SECONDS) == {sum(MEMORY) + sum(SECONDS)}


def test_e1_22_bytes_plus_seconds_choose_by_the_unit_of_bytes():
    """Memory: the value before the segment; Recompute: its links, if the segment has more than one."""

    def price(unit):
        return lambda j, i: MEMORY[j] / unit + (sum(SECONDS[j:i]) if i > j + 1 else 0)

    assert best_segments(5, price(1e9)) == (1, 2, 3, 4, 5)  # in GB a byte is nothing: keep every value
    assert best_segments(5, price(1e-3)) == (5,)  # in thousandths it is all: keep the first one only


def test_e1_22_a_peak_is_no_sum_over_segments():
    """What is right: two ways to cut with the same sum have different peaks, and the best one is known."""
    chain = equal_links(12, internals=6)
    peaks = {k: cost(chain, periodic(12, k)).peak for k in (1, 2, 3, 4, 6, 12)}
    assert len(set(peaks.values())) > 3 and segment_sums([7] * 12, [1] * 12) == {96}
    assert cost(chain, rotor(chain, peaks[3])).seconds <= cost(chain, periodic(12, 3)).seconds


def test_e1_22b_bytes_saved_and_seconds_added_are_sums_over_the_same_links():
    """Links 0 and 1 of three are computed again: their internals are saved, their seconds are added."""
    chain = Chain((LinkCost(1, 1, 10, 100), LinkCost(2, 1, 10, 50), LinkCost(4, 1, 10, 20)), 10)
    all_, again = periodic(3, 3), [forward(0, "input"), *(forward(i) for i in (1,)), *periodic(3, 3)[2:4]]
    again += [forward(0, "all"), forward(1, "all"), *periodic(3, 3)[4:]]
    assert cost(chain, again).seconds - cost(chain, all_).seconds == 1 + 2
    first = [forward(0, "input"), forward(1), forward(2, "all")]
    kept = sum(link.internals for link in chain.links) - sum(chain.links[i].internals for i in (0, 1))
    assert again[:3] == first and kept == chain.links[2].internals == 20


def test_e1_23_the_density_depends_on_the_unit_of_bytes():
    bytes_, mega = density(1e-3, 64e6, 3e9), density(1e-3, 64, 3e3)
    assert mega == pytest.approx(1e6 * bytes_)
    assert best_period(100, 64, 640) == best_period(100, 64e6, 640e6) == 3


@pytest.mark.parametrize("n", [1, 4, 10])
def test_e4_21_to_store_least_is_to_store_nothing(n):
    found = cost(equal_links(n), store_least(n))
    assert found.forwards == n * (n + 1) // 2 and found.peak == least_bytes(equal_links(n))
