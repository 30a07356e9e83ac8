"""The executor: any schedule gives the serial program's numbers, in the simulator's time, memory and messages."""

from dataclasses import replace

import pytest
import torch
from torch import nn

from reference.collectives import rounding
from reference.data_parallel.accumulation import micro_batches
from reference.models import CNN, GPT, IGNORED, MLP, TINY, Data, digits, gradients, text
from reference.perf.meter import Meter
from reference.pipeline.analysis.validate import InvalidSchedule
from reference.pipeline.messages import messages
from reference.pipeline.runtime import executor
from reference.pipeline.runtime.executor import Pipeline
from reference.pipeline.schedule import Schedule, parse, repeat
from reference.pipeline.schedules import SCHEDULES, make
from reference.pipeline.schedules.plain import gpipe, one_f_one_b, pipedream
from reference.pipeline.simulate import Costs, activations, simulate
from reference.pipeline.stages import cut
from reference.worlds import RankFailed, launch, networks
from reference.worlds.virtual.polling import POLL_SECONDS

from ..programs import evenly, gathered, run, serial
from ..timed import TimedLayer

SYNCHRONOUS = [name for name, record in SCHEDULES.items() if record.weights == "flush"]
SIZES, SAMPLES = (64, *[8] * 8, 10), 13
DIGITS = Data(digits().x[:SAMPLES].double(), digits().y[:SAMPLES])


def mlp():
    """17 layers, half of them without parameters."""
    return MLP(SIZES, seed=1).double()


def gpt(**config):
    return lambda: GPT(TINY._replace(width=16, **{"layers": 2, **config}), seed=1).double()


def tokens(samples, length=8):
    """Sentences with some targets that do not count."""
    data = text(length)
    y = data.y[:samples].clone()
    y[::3, : length // 2] = IGNORED
    return Data(data.x[:samples], y)


def possible(name):
    """The schedules of that name for 1, 2, 3, 4 and 8 ranks, as far as there are any, and few micro-batches."""
    allowed = [[m for m in (3, 6, 8, 16) if not SCHEDULES[name].refuses(p, m)] for p in (1, 2, 3, 4, 8)]
    return [make(name, p, m[0]) for p, m in zip((1, 2, 3, 4, 8), allowed) if m]


def put(line, column, word):
    """The line with a word there."""
    return f"{line:{column}}"[:column] + word + line[column + len(word) :]


def test_the_chart_in_the_docstring_is_what_it_does():
    """Passes of five columns each, and messages between the ranks where the pass ends that makes them."""
    times = simulate(one_f_one_b(2, 2), Costs(F=1, B=1))
    ranks, words, arrows = ["..   " * 6, "..   " * 6], "", ""
    for r, exchanges in enumerate(messages(times.schedule)):
        for action, start, end, exchange in zip(times.schedule.orders[r], times.starts[r], times.ends[r], exchanges):
            if action.kind != "S":
                ranks[r] = put(ranks[r], round(5 * start), f"{action.kind}{action.micro}")
            for message in exchange.sends:
                column = round(5 * end) - 2
                words = put(words, column, f"{'x' if message.kind == 'activation' else 'g'}{message.micro}")
                arrows = put(arrows, column, "v" if message.peer else "^")
    expected = [f"rank 0  {ranks[0]}", " " * 8 + words, " " * 8 + arrows, f"rank 1  {ranks[1]}"]
    assert "\n".join(" " * 14 + line.rstrip() for line in expected) in executor.__doc__


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
        assert bound < 1e-9 and all((found[n] - expected[n]).abs().max() < bound for n in found)
        assert all(result.losses == pytest.approx([loss], rel=1e-12) for result in results)
        assert [result.peak for result in results] == activations(schedule)


def close(gradients, model):
    """These are the model's, by name, and none is missing."""
    assert set(gradients) == {name for name, parameter in model.named_parameters() if parameter.grad is not None}
    for name, found in gradients.items():
        torch.testing.assert_close(found, model.get_parameter(name).grad, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("name", SYNCHRONOUS)
def test_a_gpt_with_a_tied_embedding_dropout_and_uneven_micro_batches(name):
    schedule, data, model = make(name, 2, 4), micro_batches(tokens(7), 4), gpt(dropout=0.2)()
    loss = serial(model, schedule.stages, data, seed=5)
    results = run(schedule, gpt(dropout=0.2), data, seed=5).results
    close(gathered(results), model)
    assert all(result.losses == pytest.approx([loss], rel=1e-12) for result in results)


@pytest.mark.parametrize("name", ["GPipe", "breadth first", "ZB-V", "DualPipe"])
def test_recomputing_changes_no_bit(name):
    """The same dropout masks are drawn again."""
    schedule, data = make(name, 2, 4), micro_batches(tokens(7), 4)
    kept, again = (
        run(schedule, gpt(dropout=0.2), data, recompute=which).results for which in ((), range(0, schedule.stages, 2))
    )
    assert [result.losses for result in kept] == [result.losses for result in again]
    assert all(torch.equal(gathered(kept)[name], tensor) for name, tensor in gathered(again).items())


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
    for name, weight in model.named_parameters():
        torch.testing.assert_close(found[name], weight.detach(), rtol=1e-9, atol=1e-12)


def test_both_worlds(world):
    """A tied GPT in a V, with split backward passes and a recomputed stage."""
    schedule, data = make("ZB-V", 2, 4), micro_batches(tokens(5), 4)
    model = gpt(dropout=0.1)()
    serial(model, schedule.stages, data)
    results = run(schedule, gpt(dropout=0.1), data, recompute=[1], world=world).results
    close(gathered(results), model)


@pytest.mark.mpi
def test_half_precision_and_copies_on_real_ranks():
    """MPI has no bfloat16, so messages are bytes; DualPipe's copies end with the same bits."""

    half, schedule = Data(DIGITS.x.bfloat16(), DIGITS.y), make("DualPipe", 2, 4)
    real, virtual = (
        run(schedule, lambda: mlp().bfloat16(), micro_batches(half, 4), world=world).results
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
    close(gathered(results), model)


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
    close(gathered(job.results), model)
    assert job.results[0].losses == pytest.approx([loss], rel=1e-12)
    ways = {(event.rank, event.peer) for event in job.timeline.of(kind="send") if event.nbytes in (3 * 64, 4 * 64)}
    backward = {"0.": 2, "4.": 3, "12.": 3, "": 0}[frozen[0]]  # boundaries that need gradients
    assert sum(peer < rank for rank, peer in ways) == backward and sum(peer > rank for rank, peer in ways) == 3


# Time ---------------------------------------------------------------------------------------------------------------


def recorded(schedule, costs, n=1000, ahead=1):
    """The times of a step whose passes take `costs`, and messages of n numbers `costs.send`; and the job."""

    def program(comm):
        stages = {s: TimedLayer(comm, *(costs.of(kind, s) for kind in "FIW")) for s in schedule.chunks[comm.rank]}
        pipeline = Pipeline(comm, schedule, stages, loss=lambda x, y: x.sum(), ahead=ahead)
        pipeline.step([Data(torch.zeros(1, n), torch.zeros(1))] * schedule.micro_batches)
        return pipeline.times()

    job = launch(program, schedule.ranks, network=networks.uniform(0.0, costs.send / (4 * n)))
    return job.results[0], job


@pytest.mark.parametrize("send", [0.0, 25.0])
@pytest.mark.parametrize("name", SYNCHRONOUS)
def test_it_takes_the_simulators_time(name, send):
    """To the 0.1 us that a look at a send costs on the virtual clock. The first stage's input needs no gradient.

    With messages that take time DualPipe takes more: F and B that run side by side send at once, through one port.
    """
    schedule = make(name, 4, 8)
    costs = Costs(F=100.0, I=[0.0] + [100.0] * (schedule.stages - 1), W=100.0, send=send)
    times, expected = recorded(schedule, costs)[0], simulate(schedule, costs)
    if send and any(schedule.overlapped):
        assert times.makespan > expected.makespan
        return
    polls = POLL_SECONDS * sum(map(len, schedule.orders))
    for found, told in [(times.starts, expected.starts), (times.ends, expected.ends)]:
        for mine, simulated in zip(found, told):
            assert mine == pytest.approx(simulated, rel=0, abs=polls)
    assert times.bubble == pytest.approx(expected.bubble, abs=1e-8)


def test_receives_posted_late_make_messages_wait():
    """With ahead = 0 a message moves only when its receiver has nothing else to do."""
    schedule, costs = one_f_one_b(4, 8), Costs(F=100.0, I=[0.0, 100.0, 100.0, 100.0], W=100.0, send=25.0)
    late, early = (recorded(schedule, costs, ahead=ahead)[0].makespan for ahead in (0, 1))
    assert late >= early + 4 * 25.0


def test_messages_travel_while_ranks_compute():
    _, job = recorded(one_f_one_b(4, 8), Costs(F=100.0, I=[0.0, 100.0, 100.0, 100.0], W=100.0, send=25.0))
    sends, computing = job.timeline.of(1, "send"), job.timeline.of(1, "compute")
    hidden = sum(max(0.0, min(s.end, c.end) - max(s.start, c.start)) for s in sends for c in computing)
    assert hidden > 0.5 * job.timeline.busy(1, "send")


# Messages -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["1F1B", "ZB-H1", "interleaved 1F1B", "ZB-V"])
def test_a_boundary_costs_b_s_h_numbers_each_way(name):
    """Not b h: every token of every sequence passes (E0-22). Boundaries within a rank cost nothing."""
    p, m, (b, s, h) = 3, 6, (2, 8, 16)
    schedule = make(name, p, m)
    data = micro_batches(tokens(b * m, s), m)
    one, two = (run(schedule, gpt(tied=False, layers=4), *steps).bytes_sent for steps in ([data], [data, data]))
    home = schedule.home
    crossed = sum(home[stage, 0] != home[stage + 1, 0] for stage in range(schedule.stages - 1))
    agreements = sum(two) - sum(one) - 2 * crossed * m * b * s * h * 8
    assert 0 < agreements < 100 * p  # on the micro-batches and the loss
    assert crossed == {"ZB-V": 4, "interleaved 1F1B": 5}.get(name, 2)


def test_a_tied_embedding_costs_its_gradient_once_a_step_each_way():
    tied, untied = (run(one_f_one_b(3, 3), gpt(tied=tied), micro_batches(tokens(6), 3)) for tied in (True, False))
    embedding, more = 256 * 16 * 8, [a - b for a, b in zip(tied.bytes_sent, untied.bytes_sent)]
    assert more == pytest.approx([2 * embedding, 0, 2 * embedding], abs=200)  # and once at the start, to be equal


def test_one_rank_sends_nothing():
    assert run(make("ZB-V", 1, 3), gpt(), micro_batches(tokens(3), 3)).bytes_sent == [0]


# Memory -------------------------------------------------------------------------------------------------------------


def activation_bytes(schedule, recompute=(), **config):
    """Of each rank the most bytes of activations at a time, in units of what one block keeps of one micro-batch."""
    data = micro_batches(tokens(2 * schedule.micro_batches, 32), schedule.micro_batches)

    def program(comm):
        model = nn.Sequential(*GPT(TINY._replace(layers=schedule.stages, width=64, **config)).blocks)
        own = dict(enumerate(cut(model, evenly(model, schedule.stages))))
        own = {s: own[s] for s in schedule.chunks[comm.rank]}
        loss = lambda x, y: x.sum()  # noqa: E731
        pipeline = Pipeline(comm, schedule, own, loss, recompute)
        x = [Data(torch.zeros(2, 32, 64), part.y) for part in data]
        with Meter(module=nn.ModuleList(own.values())) as meter:
            pipeline.step(x)
        return meter.peak["activations"]

    return launch(program, schedule.ranks).results


def test_bytes_of_activations_are_what_the_schedule_says():
    """1F1B p - r, GPipe m, in units of what a pass leaves, and what the pass needs that is going on."""
    more, less = activation_bytes(gpipe(4, 8)), activation_bytes(gpipe(4, 4))
    a_pass = (more[1] - less[1]) / 4
    for schedule, found in ((gpipe(4, 8), more), (one_f_one_b(4, 8), activation_bytes(one_f_one_b(4, 8)))):
        for held, passes in zip(found, activations(schedule)):
            assert 0.0 < held / a_pass - passes < 1.0


def test_recomputed_stages_keep_their_input_only():
    kept, again = activation_bytes(gpipe(2, 8)), activation_bytes(gpipe(2, 8), recompute=(0, 1))
    assert max(again) < 0.3 * min(kept)


# What can go wrong --------------------------------------------------------------------------------------------------


def refused(match, ranks, schedule=None, stages=None, data=None, error=ValueError, **options):
    """All ranks raise the same message; what is given may depend on the communicator."""

    def program(comm):
        plan = schedule(comm) if callable(schedule) else schedule or one_f_one_b(ranks, 2)
        chain = cut(mlp(), evenly(mlp(), max(plan.stages, ranks)))
        own = stages(comm, chain) if stages else {s: chain[s] for s in plan.chunks[comm.rank]}
        with pytest.raises(error) as caught:
            Pipeline(comm, plan, own, **options).step(data(comm) if data else micro_batches(DIGITS, 2))
        return str(caught.value)

    (message,) = set(launch(program, ranks).results)
    assert match in message


def test_another_number_of_ranks():
    told = "1F1B is made for 3 ranks, and 2 are running: start with mpirun -n 3, or make the schedule for 2"
    refused(told, 2, one_f_one_b(3, 2), lambda comm, chain: {})
    told = "1F1B is made for 2 ranks, and 3 are running: start with mpirun -n 2, or make the schedule for 3"
    refused(told, 3, one_f_one_b(2, 2), lambda comm, chain: chain)  # of which rank 2 has none to pick


def test_each_rank_picks_its_own_of_all_stages():
    """The same bits as from this rank's stages by number; a stage that lives twice is picked twice."""

    def program(comm, own):
        schedule = make("DualPipe", 2, 4)
        stages = cut(mlp(), evenly(mlp(), schedule.stages))
        pipeline = Pipeline(comm, schedule, {s: stages[s] for s in schedule.chunks[comm.rank]} if own else stages)
        loss = pipeline.step(micro_batches(DIGITS, 4))
        return loss, [(s, p.grad) for s, stage in pipeline.stages.items() for p in stage.parameters()]

    by_number, picked = (launch(program, 2, own).results for own in (True, False))
    for (loss, mine), (other, others) in zip(by_number, picked):
        assert loss == other and {s for s, _ in mine} == {0, 1}
        assert all(s == t and torch.equal(a, b) for (s, a), (t, b) in zip(mine, others, strict=True))


def test_schedules_that_differ():
    told = "the schedules must be alike on all ranks, but differ on rank(s) [1]: rank 1 has 'GPipe' where"
    refused(told, 2, lambda comm: (gpipe if comm.rank else one_f_one_b)(2, 2))

    pairs = make("DualPipe", 2, 4)
    told = (
        "the schedules must be alike on all ranks, but differ on rank(s) [1]: rank 1 has 'overlapped [0]' where rank 0"
    )
    refused(told, 2, lambda comm: replace(pairs, overlapped=(frozenset({0}),) * 2) if comm.rank else pairs)


def test_two_steps_with_a_flush_are_two_calls():
    """Both updates would come at the end, with gradients that are sums over both steps."""
    told = (
        "1F1B has 2 optimizer steps of stage 0 on rank 0, and one step with a flush has one: make the schedule of one"
    )
    refused(told, 2, repeat(one_f_one_b(2, 1), 2))


def test_before_the_first_step_there_is_nothing():
    def program(comm, schedule):
        pipeline = Pipeline(comm, schedule, cut(mlp(), evenly(mlp(), 2)))
        assert pipeline.seen == {} and pipeline.peak_activations == 0
        with pytest.raises(RuntimeError, match="no step has been taken yet"):
            pipeline.times()

    for schedule in (one_f_one_b(2, 2), pipedream(2, 2)):
        launch(program, 2, schedule)


def test_a_schedule_that_nobody_can_carry_out():
    orders = ("0F0 0F1 0B1 0B0 0S1", "1F1 1B1 1F0 1B0")
    refused("", 2, Schedule("mine", tuple(map(parse, orders))), error=InvalidSchedule)


def test_stages_that_are_not_the_schedules():
    told = "rank 1 has to be given the stages [1] of 1F1B, and got [0, 1]: give each rank all 3, or {s: stages[s] for s"
    refused(told, 3, stages=lambda comm, chain: {s: chain[s] for s in ({comm.rank, comm.rank % 2, comm.rank // 2})})
    told = "rank 0 has to be given the stages [0] of 1F1B, and got 2 stages: give each rank all 3, or"
    refused(told, 3, stages=lambda comm, chain: chain[:2])


def test_options_that_cannot_be():
    refused("recompute names stages of 0 ... 1; got ahead=1, recompute=[2]", 2, recompute=[2])
    refused("ahead >= 0 actions early", 2, ahead=-1)
    refused(
        "need 32,768 tags, one for each message of a step, and MPI promises 32,767: at most 8,191", 2, gpipe(2, 8192)
    )


def test_micro_batches_that_do_not_fit():
    told = (
        "1F1B is made for 2 micro-batches and was given 3: cut the batch into as many, or make the schedule for these"
    )
    refused(told, 2, data=lambda comm: micro_batches(DIGITS, 3))
    told = "the micro-batches must be alike on all ranks, but differ on rank(s) [1]: rank 1 has 'x float64 [6, 64]"
    refused(told, 2, data=lambda comm: micro_batches(Data(DIGITS.x[comm.rank :], DIGITS.y[comm.rank :]), 2))
    told = "stage 0 cannot take what a micro-batch has, float64 [7, 60]: "
    refused(told, 3, data=lambda comm: micro_batches(Data(DIGITS.x[:, 4:], DIGITS.y), 2))


def test_a_model_that_shares_cannot_be_updated_at_different_times():
    """Two copies of the embedding would soon be two embeddings."""
    with pytest.raises(RankFailed, match=r"token.weight lives in 2 places"):
        run(pipedream(2, 2), gpt(), micro_batches(tokens(2), 2))


class Breaks(nn.Module):
    """Fails in the third forward pass."""

    calls = 0

    def forward(self, x):
        self.calls += not x.is_meta
        if self.calls == 3:
            raise ArithmeticError("the third pass")
        return x


def test_a_rank_that_fails_in_the_middle_is_named():
    """And the others do not wait for it for ever."""

    def program(comm):
        stage = Breaks() if comm.rank == 1 else nn.Linear(64, 64)
        data = micro_batches(Data(DIGITS.x.float(), DIGITS.y), 6)
        Pipeline(comm, one_f_one_b(3, 6), {comm.rank: stage}).step(data)

    with pytest.raises(RankFailed, match="the program raised on rank 1: ArithmeticError: the third pass"):
        launch(program, 3)
