"""Training through pipelines, one or several: the serial trainer's losses and weights."""

from functools import partial

import pytest
import torch

from reference.models import GPT, MLP, TINY, digits, text
from reference.models import train as serially
from reference.pipeline.runtime import trainer
from reference.pipeline.runtime.trainer import check_training, measured, train_pipeline
from reference.pipeline.schedules import make
from reference.pipeline.schedules.plain import one_f_one_b, pipedream
from reference.pipeline.simulate import Costs, simulate
from reference.worlds import launch
from reference.worlds.errors import RankFailed

SIZES, STEPS, SIZE = (64, 16, 16, 16, 10), 3, 51  # whose shares and parts are not equal


def mlp(seed=0):
    return MLP(SIZES, seed)


def gpt(seed=0):
    """Its embedding is the head's weight too: on the first and on the last stage."""
    return GPT(TINY, seed)


sgd = partial(torch.optim.SGD, lr=0.1, momentum=0.9)


def trained(comm, schedule, build, data):
    """The losses, all weights, and what each group of ranks is called."""
    model = build(comm.rank)  # which rank 0's takes the place of
    found = train_pipeline(comm, schedule, model, data, sgd, range(STEPS), SIZE)
    return found.losses, dict(model.state_dict()), found.peaks


@pytest.mark.parametrize(
    "name, p, m, k, build, data",
    [
        ("1F1B", 3, 4, 2, mlp, digits()),
        ("1F1B", 1, 2, 3, mlp, digits()),
        ("ZB-V", 2, 5, 1, gpt, text(TINY.length)),
        ("DualPipe", 2, 4, 2, gpt, text(TINY.length)),
    ],
)
def test_k_pipelines_of_p_ranks_train_as_one_device(name, p, m, k, build, data):
    model = build()
    losses = serially(model, data, sgd(model.parameters()), STEPS, SIZE)
    runs = launch(trained, k * p, make(name, p, m), build, data).results
    for mine, weights, _ in runs:
        assert mine == pytest.approx(losses, rel=1e-5)
        assert all(torch.equal(weight, runs[0][1][name]) for name, weight in weights.items())
    torch.testing.assert_close(runs[0][1], dict(model.state_dict()), rtol=1e-4, atol=1e-6)
    assert len(runs[0][2]) == p


@pytest.mark.parametrize("name", ["1F1B", "ZB-V", "interleaved 1F1B", "DualPipe"])
def test_a_step_is_simulated_with_the_seconds_that_it_took(name):
    """From times that follow from costs the costs come back."""
    schedule = make(name, 2, 6)
    numbers = [1.0 + s for s in range(schedule.stages)]
    costs = Costs(F=numbers, I=2.0, W=numbers, B=[3.0 * n for n in numbers], S=0.5)
    times = simulate(schedule, costs if name != "DualPipe" else costs._replace(pair=numbers))
    again = simulate(schedule, measured(times))
    assert (again.starts, again.ends) == (times.starts, times.ends)


def test_what_cannot_be_is_told_before_it_begins():
    schedule = one_f_one_b(4, 8)
    with pytest.raises(ValueError, match=r"pipeline of 4 ranks, and 6 are running: start 4 or 8"):
        check_training(6, schedule, mlp())
    with pytest.raises(ValueError, match=r"4 ranks, and 3 are running: start 4,"):
        check_training(3, schedule, mlp())
    with pytest.raises(ValueError, match=r"PipeDream updates .* 2 pipelines have no moment"):
        check_training(4, pipedream(2, 4), mlp())
    with pytest.raises(ValueError, match=r"4 stages and a model of 3 layers.*layers >= stages"):
        check_training(4, schedule, MLP())


def test_pipelines_that_part_are_found_out(monkeypatch):
    """A planted mistake: no pipeline's gradients are averaged with the other's."""
    monkeypatch.setattr(trainer, "average", lambda copies, weights, loss, count: loss)
    with pytest.raises(RankFailed, match="Diverged"):
        launch(trained, 4, one_f_one_b(2, 2), mlp, digits())
