"""What the graders of chapter 11 take for right is what its packages say, or what trying everything finds."""

import itertools

import pytest

from exercises.graders.ch11_layouts_3d_4d import predict, write
from exercises.grading.grade import draw
from reference.mesh.mesh import Axes

from .later import Later
from .test_graders import SEED

pytestmark = pytest.mark.chapter(number=11)
rebalance = Later("reference.rebalance")


def arguments(exercise, name):
    """The arguments of all its cases."""
    return [case.arguments[0] for case in draw(exercise, name, SEED)]


def test_the_ranks_of_a_group():
    for axes, along, rank in arguments(write.group_of, "group_of"):
        assert write.grouped(axes, along, rank) == Axes(dict(axes)).ranks(rank, *along)


def test_what_rebalancing_saves():
    for speeds, units, steps, moving in arguments(predict.seconds_saved, "seconds_saved"):
        step = predict.before(speeds, units) - predict.after(speeds, units)
        assert predict.saved(speeds, units, steps, moving) == pytest.approx(rebalance.benefit(step, steps, moving))


def test_without_a_limit_no_shares_in_proportion_to_speeds_are_quicker():
    for now, speeds, _ in arguments(write.new_shares, "new_shares"):
        if sum(now) >= len(now):
            best = write.reached(now, speeds, sum(now))
            assert write.slowest(best, speeds) <= write.slowest(rebalance.target(sum(now), speeds), speeds)


@pytest.mark.parametrize("speeds", [(1, 2, 2), (3, 1, 4), (2, 2, 2), (1, 5, 3)])
def test_no_other_shares_are_quicker_or_nearer(speeds):
    for now in [(4, 4, 4), (0, 9, 1), (7, 0, 2)]:
        every = [new for new in itertools.product(range(sum(now) + 1), repeat=3) if sum(new) == sum(now)]
        for most in range(6):
            near = [new for new in every if write.moved(now, new) <= most]
            best = min((write.slowest(new, speeds), write.moved(now, new)) for new in near)
            found = write.reached(list(now), speeds, most)
            assert (write.slowest(found, speeds), write.moved(now, found)) == best


def test_the_shape_of_the_text_has_0_6_trillion_parameters():
    assert 120 * predict.parameters(20480, 81920) == pytest.approx(0.604e12, rel=1e-3)
    assert predict.held(20480, 81920, 120, 8, 16, 16, False) == pytest.approx(80.5e9, rel=1e-3)
    assert predict.held(20480, 81920, 120, 8, 16, 16, True) == pytest.approx(5.03e9, rel=1e-3)
