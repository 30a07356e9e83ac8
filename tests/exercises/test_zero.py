"""What the graders of chapter 10 take for right is what its package holds, sends and cuts."""

import pytest

from exercises.graders.ch10_zero import predict, write
from exercises.grading.grade import draw
from reference.perf.recipes import ADAM_MIXED, Recipe
from reference.zero.memory import Setting, states
from reference.zero.volume import sent

from .later import Later
from .test_graders import SEED

pytestmark = pytest.mark.chapter(number=10)
shards = Later("reference.zero.shards")


def arguments(exercise, name):
    """The arguments of all its cases."""
    return [case.arguments[0] for case in draw(exercise, name, SEED)]


def test_what_a_rank_holds():
    for parameters, P, stage, *recipe in arguments(predict.memory_by_hand, "memory_by_hand"):
        held = predict.held(parameters, P, stage, *recipe)
        assert held == pytest.approx(states(parameters, stage, P, Recipe(*recipe)))
    assert predict.held(70 * 10**9, 16, 2, 4, 4, 8) == 332.5e9


def test_what_a_rank_sends():
    for parameters, P, stage, K, itemsize in arguments(predict.bytes_of_a_step, "bytes_of_a_step"):
        setting = Setting((parameters,), P, stage, ADAM_MIXED._replace(weights=itemsize, gradients=itemsize))
        assert predict.moved(parameters, P, stage, K, itemsize) == pytest.approx(sent(setting, K).total)


def test_which_rows_a_rank_has():
    for shapes, P, rank in arguments(write.rows_of_rank, "rows_of_rank"):
        pieces, length = write.layout(shapes, P, rank)
        sharding = shards.by_rows(shapes, P)
        assert length == (sharding.n if shapes else 0)
        for i, ((first, rows, _), shape) in enumerate(zip(pieces, shapes)):
            cut = sharding.piece(rank, i)
            assert (first * write.size(shape), rows * write.size(shape)) == (cut.start, cut.stop - cut.start)
