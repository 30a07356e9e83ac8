"""Load shedding: coarser at once, finer only after a while, and no oscillation."""

from reference.realtime.driving.schedule import SIZES, perception_time
from reference.realtime.driving.shedding import LoadShedder


def played(loads, shedder):
    """The level of each job, on an accelerator."""
    levels = []
    for load in loads:
        levels.append(shedder.level)
        shedder.after(perception_time(load, SIZES[shedder.level]), 60)
    return levels


def test_an_overload_that_comes_and_goes():
    levels = played([4] * 3 + [8] * 5 + [4] * 15, LoadShedder(3))
    assert levels[:8] == [0, 0, 0, 0, 1, 1, 1, 1]
    assert levels[8:] == [1] * 10 + [0] * 5


def test_it_settles_under_every_constant_load_and_without_hysteresis_it_does_not():
    for load in range(1, 60):
        assert len(set(played([load] * 200, LoadShedder(3))[100:])) == 1, load
    naive = LoadShedder(3, coarser=0.8, finer=0.79, patience=1)
    assert len(set(played([8] * 20, naive)[1:])) == 2


def test_it_does_not_go_beyond_the_coarsest_or_the_finest():
    assert played([500] * 5, LoadShedder(3)) == [0, 1, 2, 2, 2]
    assert played([1] * 30, LoadShedder(3)) == [0] * 30


def test_where_time_grows_faster_than_pixels_it_tries_less_and_less_often():
    shedder, levels = LoadShedder(2), []
    for _ in range(400):
        levels.append(shedder.level)
        shedder.after((70, 10)[shedder.level], 60)
    tries = [k for k, level in enumerate(levels) if level == 0]
    assert tries == [0, 11, 32, 73, 154, 315]
