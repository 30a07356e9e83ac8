"""The executor: any schedule gives the serial program's numbers, in the simulator's time, memory and messages."""

import pytest
import torch
from torch import nn

from reference.collectives import rounding
from reference.data_parallel.accumulation import micro_batches
from reference.models import CNN, GPT, IGNORED, MLP, TINY, Data, digits, gradients, share, text
from reference.perf.meter import Meter
from reference.pipeline.catalogue import SCHEDULES, make
from reference.pipeline.executor import Pipeline
from reference.pipeline.schedule import Schedule, parse
from reference.pipeline.schedules import gpipe, one_f_one_b, pipedream
from reference.pipeline.simulate import Costs, activations, simulate
from reference.pipeline.stages import cut, layers
from reference.worlds import RankFailed, launch, networks
from reference.worlds.engine import POLL_SECONDS

from .programs import evenly, gathered, run, serial
from .timed import TimedLayer

SYNCHRONOUS = [name for name in SCHEDULES if name not in ("PipeDream", "2BW")]
SIZES, SAMPLES = (64, *[8] * 8, 10), 13
DIGITS = Data(digits().x[:SAMPLES].double(), digits().y[:SAMPLES])


def mlp():
    """17 layers, half of them without parameters."""
    return MLP(SIZES, seed=1).double()


def gpt(**config):
    return lambda: GPT(TINY._replace(layers=6, width=16, **config), seed=1).double()


def tokens(samples, length=8):
    """Sentences with some targets that do not count."""
    data = text(length)
    y = data.y[:samples].clone()
    y[::3, : length // 2] = IGNORED
    return Data(data.x[:samples], y)


def possible(name):
    """The schedules of that name for some ranks and micro-batches, as far as there are any."""
    sizes = [(1, 3), (2, 3), (2, 4), (3, 4), (3, 6), (4, 8), (8, 16 if name.startswith("Dual") else 8)]
    return [make(name, p, m) for p, m in sizes if not SCHEDULES[name].refuses(p, m)]


# Equal to the serial program ----------------------------------------------------------------------------------------


def allowed():
    """How far rounding may drive two gradients apart that are the same sum in another order (see test_replica.py)."""
    model, h = mlp(), SAMPLES + 3 * sum(SIZES)
    samples = []
    for i in range(SAMPLES):
        gradients(model, Data(DIGITS.x[i : i + 1], DIGITS.y[i : i + 1]))
        samples.append(torch.cat([p.grad.abs().flatten() for p in model.parameters()]))
    return rounding.allowance(torch.stack(samples).mean(0).max().item(), "float64", h, h)


@pytest.mark.parametrize("name", SYNCHRONOUS)
def test_every_schedule_gives_the_serial_gradients_and_loss(name):
    """And holds as many activations as the simulator says. Micro-batches are uneven, some empty."""
    model = mlp()
    loss = gradients(model, DIGITS)
    expected, bound = {n: p.grad for n, p in model.named_parameters()}, allowed()
    for schedule in possible(name):
        m = schedule.micro_batches
        results = run(schedule, mlp, micro_batches(DIGITS, m)).results
        found = gathered(results)
        assert found.keys() == expected.keys()
        assert max((found[n] - expected[n]).abs().max() for n in found) < bound < 1e-9
        assert all(result.losses == pytest.approx([loss], rel=1e-12) for result in results)
        assert [result.peak for result in results] == activations(schedule)


@pytest.mark.parametrize("name", SYNCHRONOUS)
def test_a_gpt_with_a_tied_embedding_dropout_and_uneven_micro_batches(name):
    """Recomputing stages draw the same masks, and change no bit."""
    schedule = make(name, 2, 4)
    data, make_model = micro_batches(tokens(7), 4), gpt(dropout=0.2)
    model = make_model()
    loss = serial(model, schedule.stages, data, seed=5)
    kept, again = (
        run(schedule, make_model, data, seed=5, recompute=which).results for which in ((), range(0, schedule.stages, 2))
    )
    found = gathered(kept)
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.grad, rtol=1e-9, atol=1e-12)
    assert all(result.losses == pytest.approx([loss], rel=1e-12) for result in kept)
    assert [result.losses for result in kept] == [result.losses for result in again]
    assert all(torch.equal(found[name], tensor) for name, tensor in gathered(again).items())


def test_another_seed_or_step_draws_other_masks():
    data = micro_batches(tokens(4), 2)
    first, other = (
        run(one_f_one_b(2, 2), gpt(dropout=0.2), data, data, seed=seed).results[0].losses for seed in (0, 1)
    )
    assert len({*first, *other}) == 4


@pytest.mark.parametrize("name", ["1F1B", "ZB-V", "DualPipe"])
def test_training_is_that_of_the_serial_program(name):
    """Several steps, micro-batches of other shapes in each; copies stay equal to the last bit."""
    schedule, model = make(name, 2, 4), gpt()()
    steps = [micro_batches(tokens(5, length), 4) for length in (8, 6, 8)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    losses = []
    for step, data in enumerate(steps):
        losses.append(serial(model, schedule.stages, data, step))
        optimizer.step()

    def sgd(parameters):
        return torch.optim.SGD(parameters, lr=0.1, momentum=0.9)

    results = run(schedule, gpt(), *steps, optimizer=sgd).results
    assert losses[-1] < losses[0] - 0.1
    assert all(result.losses == pytest.approx(losses, rel=1e-12) for result in results)
    found = gathered(results, "weights")
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(found[name], parameter.detach(), rtol=1e-9, atol=1e-12)


def test_both_worlds(world):
    """A tied GPT in a V, with split backward passes and a recomputed stage."""
    schedule, data = make("ZB-V", 2, 4), micro_batches(tokens(5), 4)
    model = gpt(dropout=0.1)()
    serial(model, schedule.stages, data)
    results = run(schedule, gpt(dropout=0.1), data, recompute=[1], world=world).results
    for name, gradient in gathered(results).items():
        torch.testing.assert_close(gradient, model.get_parameter(name).grad, rtol=1e-9, atol=1e-12)


@pytest.mark.mpi
def test_half_precision_and_copies_on_real_ranks():
    """MPI has no bfloat16, so messages are bytes; DualPipe's copies end with the same bits."""

    half, schedule = Data(DIGITS.x.bfloat16(), DIGITS.y), make("DualPipe", 4, 8)
    real, virtual = (
        run(schedule, lambda: mlp().bfloat16(), micro_batches(half, 8), world=world).results
        for world in ("mpi", "virtual")
    )
    assert {str(g.dtype) for g in gathered(real).values()} == {"torch.bfloat16"}
    assert all(torch.equal(gathered(virtual)[name], g) for name, g in gathered(real).items())


def test_a_cnn():
    def picture():
        return CNN((4, 4), seed=1).double()

    model = picture()
    gradients(model, DIGITS)
    results = run(one_f_one_b(3, 4), picture, micro_batches(DIGITS, 4)).results
    for name, gradient in gathered(results).items():
        torch.testing.assert_close(gradient, model.get_parameter(name).grad, rtol=1e-9, atol=1e-12)


def test_no_target_counts():
    data = [Data(part.x, torch.full_like(part.y, IGNORED)) for part in micro_batches(DIGITS, 2)]
    results = run(one_f_one_b(2, 2), mlp, data).results
    assert [result.losses for result in results] == [[0.0]] * 2
    assert not any(gradient.any() for gradient in gathered(results).values())


# Frozen stages ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("frozen", [("0.", "2."), ("4.", "6."), ("12.", "14.", "16."), ("",)])
@pytest.mark.parametrize("name", ["1F1B", "ZB-H1"])
def test_frozen_parameters(frozen, name):
    """In front nothing is sent back, since nobody needs it; elsewhere gradients pass through."""

    def partly():
        model = mlp()
        for n, parameter in model.named_parameters():
            parameter.requires_grad_(not n.startswith(frozen))
        return model

    model = partly()
    loss = serial(model, 4, micro_batches(DIGITS, 4))
    job = run(make(name, 4, 4), partly, micro_batches(DIGITS, 4))
    found = gathered(job.results)
    assert job.results[0].losses == pytest.approx([loss], rel=1e-12)
    assert set(found) == {n for n, parameter in model.named_parameters() if parameter.grad is not None}
    for n, gradient in found.items():
        torch.testing.assert_close(gradient, model.get_parameter(n).grad, rtol=1e-9, atol=1e-12)
    ways = {(event.rank, event.peer) for event in job.timeline.of(kind="send") if event.nbytes in (3 * 64, 4 * 64)}
    backward = {"0.": 2, "4.": 3, "12.": 3, "": 0}[frozen[0]]  # boundaries that need gradients
    assert sum(peer < rank for rank, peer in ways) == backward and sum(peer > rank for rank, peer in ways) == 3
