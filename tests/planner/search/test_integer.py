"""The integer programme of stages: the dynamic programme's seconds, on cases that both can state."""

from itertools import combinations

import pytest

from reference.pipeline.sizing.cuts import LayerProfile, Worker
from reference.pipeline.sizing.partition import message_time, partition
from reference.planner.search.integer import integer_cut

LAYERS = [
    LayerProfile(f, 2 * f, w, k, s)
    for f, w, k, s in zip(
        (1, 3, 2, 2, 4, 1, 2, 6), (4, 1, 1, 2, 1, 1, 1, 5), (1, 2, 1, 1, 2, 1, 1, 3), (1, 9, 1, 1, 8, 1, 1, 0)
    )
]
SEND = message_time(0.1, 1.0)


@pytest.mark.parametrize("p", [1, 2, 3, 4, 8])
@pytest.mark.parametrize("memory", [float("inf"), 24.0, 16.0, 9.0])
def test_it_cuts_as_the_dynamic_programme(p, memory):
    workers, live = [Worker(1 + r % 2, memory) for r in range(p)], [p - r for r in range(p)]
    try:
        seconds = partition(LAYERS, workers, SEND, live).seconds
    except ValueError as error:
        with pytest.raises(ValueError, match="cannot be cut") as refused:
            integer_cut(LAYERS, workers, SEND, live)
        assert str(refused.value) == str(error)
    else:
        cut = integer_cut(LAYERS, workers, SEND, live)
        assert cut.seconds == pytest.approx(seconds, rel=1e-9) and cut.ends[-1] == len(LAYERS)


def test_it_takes_rows_that_the_dynamic_programme_has_no_room_for():
    """The first and the fourth layer share weights: the best of the cuts that keep them together, tried one by one."""

    def slowest(ends):
        return max(sum(x.forward + x.backward for x in LAYERS[k:i]) for k, i in zip((0, *ends), ends))

    cuts = [(*inner, 8) for inner in combinations(range(1, 8), 3) if inner[0] >= 4]
    cut = integer_cut(LAYERS, 4, together=[(0, 3)])
    assert cut.ends[0] >= 4 and cut.seconds == min(map(slowest, cuts)) > integer_cut(LAYERS, 4).seconds


def test_more_stages_than_layers():
    with pytest.raises(ValueError, match="9 stages need at least 9 layers"):
        integer_cut(LAYERS, 9)
