"""What chapter 2 says and what would refute it: claims that were once too wide, with the case in which they fail."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pytest
import torch
import torch.distributed as dist
from scipy.stats import norm
from torch import nn
from torch.func import functional_call, grad, vmap
from torch.utils._python_dispatch import TorchDispatchMode

from reference import mpi
from reference.collectives import allreduce
from reference.collectives.ring import ring_allreduce_cost
from reference.data_parallel import noise_scale, sequence_lengths, step_time, stragglers
from reference.data_parallel.accumulation import Accumulator, relative_error
from reference.data_parallel.average import average_gradients
from reference.data_parallel.buckets import assign_buckets
from reference.data_parallel.layers import gpt, timed
from reference.data_parallel.priority import order_of_pieces
from reference.data_parallel.replica import Replica
from reference.data_parallel.scaling import efficiency, on_nodes, speedup
from reference.models import GPT, MLP, Config, Data, batch, digits, loss_sum, text, train
from reference.networks import Link, priority
from reference.perf.meter import Meter
from reference.perf.roofline import Device
from reference.worlds import LaunchError, launch, networks

from ..data_parallel.conftest import one_thread
from ..data_parallel.test_priority import BACKWARD, EACH, FORWARD, LAYERS, a_step

__all__ = ["one_thread"]


@pytest.fixture(scope="module")
def samples() -> Data:
    """The digits in float64."""
    return in_float64()


def in_float64() -> Data:
    """The digits."""
    x, y = digits()
    return Data(x.double(), y)


class Copied(TorchDispatchMode):
    """Counts the elements that are copied."""

    elements = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        """Carry out the operation."""
        self.elements += args[0].numel() if str(func) == "aten.copy_.default" else 0
        return func(*args, **(kwargs or {}))


L2 = partial(torch.optim.Adam, weight_decay=0.01)  # added to the gradient, where AdamW's is not


# Accumulation ---------------------------------------------------------------------------------------------------------


def test_no_sync_wants_the_forward_pass_inside_and_that_is_enough(oracles):
    """Each rank's gradient is its number + 1, the mean of three is 2. Not "the forward and the backward pass"."""
    for rank, (only_backward, only_forward, both) in enumerate(oracles["ddp_no_sync_around"]):
        assert only_backward == 2.0 and only_forward == both == rank + 1


def test_ddp_adds_to_the_gradient_in_each_synchronised_pass_and_our_replica_begins_anew(oracles):
    def twice(comm):
        model = torch.nn.Linear(1, 1, bias=False)
        replica = Replica(comm, model)
        for _ in range(2):
            replica.backward(model(torch.full((1, 1), comm.rank + 1.0)).sum(), 1)
        return model.weight.grad.item()

    assert oracles["ddp_synchronised_twice"] == [4.0] * 3
    assert launch(twice, 3).results == [2.0] * 3


def test_with_unequal_numbers_of_micro_batches_ddp_adds_up_gradients_of_different_steps(oracles):
    """Not "it hangs": where all ranks have three in both steps together, nobody waits, and the sums are wrong."""
    mixed = (1 + 1 + 10 + 10) / 3  # the second of rank 0's first step meets the first of the others' second step
    last = (10 + 2 * (mixed + 10)) / 3
    assert oracles["ddp_unequal_micro_batches"] == [pytest.approx([first, last]) for first in (mixed, 1.0, 1.0)]


def test_without_zero_grad_the_four_lines_count_the_last_mean_once_for_each_rank():
    """So .grad is not the sum of all steps, as it is on one device."""

    def steps(comm):
        w, found = nn.Parameter(torch.zeros(1)), []
        for size in (1.0, 2.0, 3.0):
            (w * torch.full((5,), size)).sum().backward()
            average_gradients(comm, [w], 5)
            found.append(w.grad.item())
        return found

    first, second, third = launch(steps, 4).results[0]
    assert (first, second) == (1.0, pytest.approx(2 + 4 * first / 20)) and third == pytest.approx(3 + 4 * second / 20)


def test_ddp_keeps_its_order_where_it_finds_unused_parameters(oracles):
    for found in oracles["ddp_orders"]:
        first, second = found["rebuilds"]
        assert first != second
        assert len(set(map(str, found["finds unused"]))) == 1


def test_ddp_begins_with_one_bucket_unless_it_finds_unused_parameters(oracles):
    """Not with those that it has later: in the first step nothing can be hidden."""
    for found in oracles["ddp_orders"]:
        first, second = found["rebuilds"]
        assert len(first) == 1 and len(second) == len(found["finds unused"][0]) == 4


def test_ddp_with_a_list_of_limits_begins_with_several_buckets(oracles):
    """It was said to begin with one bucket for each type, whatever its options."""
    for first, second in oracles["ddp_listed_buckets"]:
        assert len(first) == len(second) == 2


def test_a_static_graph_allows_a_rank_to_leave_out_a_parameter_in_every_step(oracles):
    """It was said that DDP then needs find_unused_parameters=True."""
    for rank, (static, finds_unused) in enumerate(oracles["ddp_unused_on_some_ranks"]):
        assert static == finds_unused == pytest.approx([1.0, 1 / len(oracles["ddp_unused_on_some_ranks"])]), rank


def test_ddps_small_bucket_leaves_first_by_default_and_last_where_it_finds_unused_parameters(oracles):
    for by_default, finds_unused in oracles["ddp_bucket_sizes"]:
        assert by_default == [1, 25, 2] and finds_unused == [2, 25, 1]


def test_with_a_static_graph_ddp_cuts_its_buckets_a_step_later(oracles):
    for found in oracles["ddp_orders"]:
        first, second, third = found["static"]
        assert first == second == found["rebuilds"][0] and third == found["rebuilds"][1]


def test_a_gradient_is_copied_into_its_bucket_once_a_step_and_not_out_of_it():
    """Autograd makes a new one in each step, whatever zero_grad has left; not "nothing is copied"."""

    def steps(comm):
        model, found = MLP(seed=0), []
        replica, optimizer = Replica(comm, model), torch.optim.SGD(model.parameters(), 0.1)
        for step in range(3):
            with Copied() as copied:
                replica.backward(*loss_sum(model, batch(digits(), 8, step, rank=comm.rank, ranks=comm.size)))
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            found.append(copied.elements)
        return found, sum(p.numel() for p in model.parameters())

    for found, elements in launch(steps, 2).results:
        assert found == [elements] * 3


@pytest.mark.parametrize(
    "kind, factor, hidden",
    [(torch.optim.Adam, 4, True), (torch.optim.AdamW, 4, True), (L2, 4, False), (torch.optim.Adam, 1e-6, False)],
)
def test_adam_hides_a_wrong_division_unless_weight_decay_is_in_the_gradient_or_it_is_tiny(
    samples, kind, factor, hidden
):
    def losses(factor):
        model = MLP(seed=0).double()
        optimizer, found = kind(model.parameters(), 1e-3), []
        for step in range(50):
            total, count = loss_sum(model, batch(samples, 64, step))
            optimizer.zero_grad()
            (total / count * factor).backward()
            optimizer.step()
            found.append(total.item() / count)
        return torch.tensor(found)

    off = (losses(factor) / losses(1) - 1).abs().max()
    assert off < 1e-5 if hidden else off > 3e-3


def test_adam_does_not_hide_a_forgotten_division_by_numbers_of_samples_that_change(samples):
    """Not "Adam hides it, as many times as there are samples": a step with more of them weighs more."""

    def weights(sizes, divide):
        model = MLP(seed=0).double()
        optimizer = torch.optim.Adam(model.parameters(), 1e-2)
        for step in range(20):
            mine = Data(*(t[: sizes[step % 2]] for t in batch(samples, 50, step)))
            total, count = loss_sum(model, mine)
            optimizer.zero_grad()
            (total / count if divide else total).backward()
            optimizer.step()
        return nn.utils.parameters_to_vector(model.parameters()).detach()

    def apart(sizes):
        return ((weights(sizes, False) - weights(sizes, True)).norm() / weights(sizes, True).norm()).item()

    assert apart([50, 50]) < 0.01 < 0.1 < apart([50, 5])


def test_replicas_that_begin_apart_stay_apart_but_weight_decay_brings_them_nearer():
    """So "no step makes them equal", and not "they stay as different as they were"."""

    def apart(comm, decay):
        model = MLP(seed=comm.rank).double()
        optimizer = torch.optim.SGD(model.parameters(), 0.1, weight_decay=decay)
        for step in range(20):
            total, count = loss_sum(model, batch(in_float64(), 16, step, rank=comm.rank, ranks=comm.size))
            optimizer.zero_grad()
            total.backward()
            average_gradients(comm, model.parameters(), count)
            optimizer.step()
        return nn.utils.parameters_to_vector(model.parameters()).detach()

    def distance(one, other):
        return (one - other).norm().item()

    begin = distance(*(nn.utils.parameters_to_vector(MLP(seed=s).double().parameters()) for s in (0, 1)))
    kept, nearer = (distance(*launch(apart, 2, decay).results) for decay in (0.0, 0.1))
    assert kept == pytest.approx(begin) and nearer == pytest.approx(begin * 0.99**20)


@pytest.mark.parametrize("ranks", [2, 4])
def test_without_the_broadcast_losses_fall_and_each_rank_ends_with_another_model(ranks):
    """Not "they look normal": where all begin alike they fall sooner."""

    def losses(comm, seed):
        model = MLP(seed=seed + comm.rank if seed else 0)
        optimizer, found = torch.optim.SGD(model.parameters(), 0.3), []
        for step in range(60):
            total, count = loss_sum(model, batch(digits(), 64, step, rank=comm.rank, ranks=comm.size))
            optimizer.zero_grad()
            total.backward()
            average_gradients(comm, model.parameters(), count)
            optimizer.step()
            found.append(comm.allreduce(total.item()) / 64)
        return found, nn.utils.parameters_to_vector(model.parameters()).detach()

    (apart, one), (_, other), *_ = launch(losses, ranks, 1).results
    together, _ = launch(losses, ranks, 0).results[0]
    assert together[-1] < apart[-1] < 0.7 * apart[0] and (one - other).norm() > 1


def test_gradients_that_agree_are_not_the_worst_case_for_an_accumulator():
    for compensated, agreeing, scattered in ((True, 2e-3, 6e-3), (False, 6e-3, 1.5e-2)):
        assert relative_error(32, torch.bfloat16, compensated) < agreeing
        assert relative_error(32, torch.bfloat16, compensated, noise=100) > scattered
    assert relative_error(32, torch.float32, noise=100) < 1e-6


def test_twenty_draws_of_gradients_that_scatter():
    """One draw says little: where the sum is near zero an element may be off by much, and the mean with it."""
    found = [relative_error(32, torch.bfloat16, True, scatter, seed) for scatter in (10, 100) for seed in range(10)]
    assert min(found) > 0.008 and 0.03 < max(found) < 0.04 and sorted(found)[10] < 0.015


@pytest.mark.parametrize("seed", range(3))
def test_most_of_kahans_error_in_16_bits_is_in_the_terms_and_not_in_the_sum(seed):
    draw = torch.Generator().manual_seed(seed)
    mean = torch.rand(2000, generator=draw, dtype=torch.float64) + 1e-3
    terms = mean * (1 + 100 * torch.randn(32, 2000, generator=draw, dtype=torch.float64))
    exact, rounded = terms.sum(0), terms.bfloat16().double().sum(0)
    lost = ((rounded - exact) / exact).abs().mean().item()
    assert 0.5 < lost / relative_error(32, torch.bfloat16, True, noise=100, seed=seed) < 1


def test_kahans_sum_in_bfloat16_ends_too_at_some_ten_thousand_terms():
    """So the page says "with these K", which are at most 2,048: there it is as good as one rounding."""
    added, terms, off = Accumulator(torch.zeros(4), torch.bfloat16, True), torch.tensor([0.1, 0.37, 0.6, 0.9]), {}
    for k in range(1, 2**16 + 1):
        added.add(terms)
        if k in (2**11, 2**16):
            off[k] = (added.total / (k * terms) - 1).abs().mean().item()
    assert off[2**11] < 2**-8 < 0.02 < off[2**16]


def test_float32_is_off_by_less_than_five_millionths_and_bfloat16_by_nine_tenths():
    """Not by two millionths at most: of ten draws of a thousand gradients that scatter a hundredfold, four are not."""
    found = [relative_error(1000, torch.float32, noise=100, seed=seed) for seed in range(10)]
    assert max(found) < 5e-6 and sum(error > 2e-6 for error in found) == 4
    assert all(relative_error(K, torch.float32, noise=scatter) < 1e-6 for K in (10, 1000) for scatter in (0.1, 10))
    assert relative_error(4096, torch.bfloat16, noise=0.0) == pytest.approx(0.9, abs=0.02)


@pytest.mark.parametrize("dtype, digits_of_sums", [(torch.bfloat16, 8), (torch.float16, 11)])
def test_a_sum_in_16_bits_stops_between_one_and_two_powers_of_two_of_its_terms(dtype, digits_of_sums):
    """Not at the first power already: where the terms scatter, half of them still change the sum."""
    added = Accumulator(torch.zeros(200), dtype)
    draw, found = torch.Generator().manual_seed(0), {}
    for k in range(1, 2 ** (digits_of_sums + 1) + 100):
        added.add(1 + 0.1 * torch.randn(200, generator=draw))
        found[k] = added.total.float()
    first, second = 2**digits_of_sums, 2 ** (digits_of_sums + 1)
    assert found[first * 5 // 4].mean() > 1.2 * first
    assert found[max(found)].max() <= second and torch.equal(found[max(found)], found[max(found) - 1])


def test_adams_moments_are_twice_the_weights():
    model = GPT(Config(length=64, width=64, heads=4, layers=4))
    optimizer = torch.optim.Adam(model.parameters())
    for p in model.parameters():
        p.grad = torch.zeros_like(p)
    optimizer.step()
    moments = sum(x.nbytes for state in optimizer.state.values() for x in state.values())
    assert moments == pytest.approx(1.76e6, rel=0.003) and moments > 1.755e6


def test_activations_shrink_with_the_ranks_only_if_the_global_batch_stays():
    def peak(comm, size):
        model, mine = MLP(seed=0), batch(digits(), size, 0, rank=comm.rank, ranks=comm.size)
        with Meter(comm, module=model) as meter:
            loss_sum(model, mine)[0].backward()
        return meter.peak["activations"]

    alone = launch(peak, 1, 160).results[0]
    assert launch(peak, 4, 160).results[0] == pytest.approx(alone / 4, rel=0.01)
    assert launch(peak, 4, 640).results[0] == alone


def test_two_all_reduces_differ_in_the_last_bits_and_ranks_do_not():
    def summed(comm, algorithm):
        x = torch.randn(1000, generator=torch.Generator().manual_seed(comm.rank))
        allreduce(comm, x, algorithm=algorithm)
        return x

    ring, doubling = (launch(summed, 4, algorithm).results for algorithm in ("ring", "recursive doubling"))
    assert all(torch.equal(x, ring[0]) for x in ring) and all(torch.equal(x, doubling[0]) for x in doubling)
    assert not torch.equal(ring[0], doubling[0])


def test_ddp_copies_gradients_unless_told(oracles):
    """By default .grad has memory of its own, beside the bucket; as a view it lies in it."""
    for copied, views in oracles["ddp_gradient_memory"]:
        assert copied and not views


def test_nan_on_one_rank_shows_in_its_own_loss_of_that_step_and_afterwards_in_all():
    """Not "nobody can tell where it began": before the sum one can."""

    def losses(comm):
        model, found = MLP(seed=0), []
        replica, optimizer = Replica(comm, model), torch.optim.SGD(model.parameters(), 0.1)
        for step in range(2):
            mine = batch(digits(), 8, step, rank=comm.rank, ranks=comm.size)
            if step == 0 and comm.rank == 2:
                mine.x[0, 0] = math.nan
            total, count = loss_sum(model, mine)
            found.append(math.isnan(total.item()))
            replica.backward(total, count)
            optimizer.step()
        return found

    assert launch(losses, 4).results == [[rank == 2, True] for rank in range(4)]


def test_nan_of_a_backward_pass_shows_in_no_loss_of_that_step():
    """The root of a loss that is 0, on rank 2: only what the ranks contribute tells whose it was."""

    def a_step(comm, check):
        model, draw = nn.Linear(3, 1), torch.Generator().manual_seed(comm.rank)
        replica = Replica(comm, model, check_finite=check)
        x = torch.randn(4, 3, generator=draw)
        target = model(x).detach() if comm.rank == 2 else torch.randn(4, 1, generator=draw)
        loss = nn.functional.mse_loss(model(x), target).sqrt()
        replica.backward(4 * loss, 4)
        return math.isfinite(loss.item()), bool(model.weight.grad.isfinite().all())

    assert launch(a_step, 4, False).results == [(True, False)] * 4
    with pytest.raises(LaunchError, match="rank 2"):
        launch(a_step, 4, True)


# Overlap --------------------------------------------------------------------------------------------------------------


def test_two_buffers_are_enough_for_equal_buckets_and_not_for_unequal_ones():
    def seconds(buffers, backward, communication):
        full, done = 0.0, []
        for k, (b, c) in enumerate(zip(backward, communication, strict=True)):
            full = max(full, done[k - buffers] if k >= buffers else 0.0) + b
            done.append(max([full, *done[-1:]]) + c)
        return done[-1]

    for c in (0.5, 1.0, 2.0):
        assert seconds(2, [1.0] * 10, [c] * 10) == pytest.approx(seconds(10, [1.0] * 10, [c] * 10))
    unequal = [0.1, 0.1, 0.1, 3.0], [1.0] * 4
    assert [seconds(n, *unequal) for n in (2, 3, 4)] == pytest.approx([6.1, 5.1, 4.3])


class Undivided(Replica):
    """A replica that leaves the division at the end out."""

    def _divide(self, total: float) -> None:
        pass


SMALL, LINK = Config(length=64, width=64, heads=4, layers=4), Link(10e-6, 1e-9, gap=math.inf)


def timed_step(comm, kind, limit, communicate):
    """Seconds from the beginning of the step to the end of the forward pass, and to the end of the step."""
    model = GPT(SMALL)
    replica = kind(comm, model, limit, limit, communicate=communicate)
    mine = batch(text(64), 16, 0, rank=comm.rank, ranks=comm.size)
    comm.Barrier()
    start = mpi.wtime(comm)
    with Meter(comm, Device(flops=200e9, bandwidth=100e9), model):
        total, count = loss_sum(model, mine)
        forward = mpi.wtime(comm)
        replica.backward(total, count)
    return forward - start, mpi.wtime(comm) - start


def predicted_step(limit):
    """The step of the recurrence, from the times at which buckets are full on a network that costs nothing."""

    def full_at(comm):
        found = []

        def note(comm, index, flat):
            found.append((mpi.wtime(comm), flat.numel()))
            return comm.Iallreduce(mpi.IN_PLACE, flat[:0])

        start = mpi.wtime(comm)
        forward, _ = timed_step(comm, Replica, limit, note)
        times, counts = zip(*found)
        return forward, [after - before for before, after in pairwise((start + forward, *times))], counts

    forward, backward, counts = launch(full_at, 4, network=networks.uniform(0.0, 0.0)).results[1]
    return step_time.step(forward, backward, [ring_allreduce_cost(4, n, 4, LINK).seconds for n in counts])


def by_network(comm, index, flat):
    return comm.Iallreduce(mpi.IN_PLACE, flat)


def hidden(limit) -> float:
    """The share of all sending that is done when the backward pass is over."""
    step = predicted_step(limit)
    return 1 - step.exposed / sum(span.end - span.start for span in step.spans)


@pytest.mark.parametrize("limit", [2**15, 2**18, 2**30])
def test_what_the_recurrence_leaves_out_is_the_division_and_nothing_else(limit):
    """Not the polling of the hooks: each poll takes 0.1 µs, but here the network is busy from the first bucket on."""

    def simulated(kind):
        return launch(timed_step, 4, kind, limit, by_network, network=networks.uniform(*LINK)).results[1][1]

    predicted = predicted_step(limit).seconds
    division = 2 * sum(p.nbytes for p in GPT(SMALL).parameters()) / 100e9  # each gradient is read and written
    assert simulated(Undivided) == pytest.approx(predicted, abs=1e-9)
    assert simulated(Replica) == pytest.approx(predicted + division, abs=1e-9)


def test_the_recurrence_is_no_bound_where_ranks_are_unequal_or_hooks_move_the_data():
    """With the times of the slowest rank: up to some per cent more, and more than that where rounds wait for hooks."""

    def step(comm, speeds, start):
        mpi.compute(comm, 5e-3 * speeds[comm.rank])
        requests = []
        for seconds, count in zip(backward, counts):
            mpi.compute(comm, seconds * speeds[comm.rank])
            requests.append(start(comm, np.zeros(count, np.float32)))
        mpi.waitall(requests)

    backward, counts = [4e-4, 9e-4, 1e-4, 2e-4], [50_000, 200_000, 200_000, 1000]
    said = step_time.step(5e-3, backward, [ring_allreduce_cost(4, n, 4, LINK).seconds for n in counts]).seconds

    def over(speeds, start):
        return launch(step, 4, speeds, start, network=networks.uniform(*LINK)).seconds / said

    def network(comm, x):
        return comm.Iallreduce(mpi.IN_PLACE, x)

    def hooks(comm, x):
        return allreduce.start(comm, x, algorithm="ring")

    assert over([1, 1, 1, 1], network) == pytest.approx(1)
    assert over([0.9, 0.6, 0.8, 1], network) > 1 and over([1, 1, 1, 1], hooks) > 1.02


def test_buckets_of_256_kib_hide_more_than_half_and_not_nearly_all():
    """Smaller ones and one for all leave more to do when the computing is done."""
    assert 0.5 < hidden(2**18) < 0.7 and hidden(2**30) == 0
    exposed = {limit: predicted_step(limit).exposed for limit in (2**15, 2**18, 2**30)}
    assert exposed[2**18] == min(exposed.values()) > 0


def test_with_two_pieces_under_way_the_forward_pass_starts_later_than_one_port_says():
    """The end is the same. The start is not: a piece that has left is in the way of the first layer's."""
    messages = priority.gradient_messages([layer.nbytes for layer in LAYERS], BACKWARD, FORWARD)
    said = priority.next_forward(priority.serve(messages, *EACH, priority.by_queue, 160_000), BACKWARD, FORWARD)
    seconds, started = a_step(order_of_pieces(LAYERS, *EACH, 160_000), credits=2)
    assert seconds == pytest.approx(said.end, rel=1e-3) and said.start == pytest.approx(1.43e-3)
    assert started == pytest.approx(1.55e-3, abs=5e-6)


def test_gloo_runs_two_collectives_at_a_time():
    """So "one after the other, as in a process group" is said of NCCL's only."""
    assert dist.ProcessGroupGloo._Options()._threads == 2


def test_a_replica_of_one_rank_sends_nothing():
    """So the page may tell hooks and messages apart by it."""

    def step(comm):
        model = MLP(seed=0)
        Replica(comm, model).backward(*loss_sum(model, batch(digits(), 8, 0)))

    assert launch(step, 1).bytes_sent[0] == 0


# Batch size -----------------------------------------------------------------------------------------------------------


def single_gradients(model, samples) -> torch.Tensor:
    """The gradient of each sample, [samples, parameters]."""

    def loss(weights, x, y):
        return torch.nn.functional.cross_entropy(functional_call(model, weights, (x[None],)), y[None])

    weights = {name: p.detach() for name, p in model.named_parameters()}
    found = vmap(grad(loss), (None, 0, 0))(weights, *samples)
    return torch.cat([each.flatten(1) for each in found.values()], 1)


def noise(each: torch.Tensor) -> noise_scale.Noise:
    """|G|^2 and tr(Sigma) of these samples."""
    mean = each.mean(0)
    return noise_scale.Noise(noise_scale.square([mean]), (each - mean).square().sum(1).mean().item())


def test_the_noise_scale_does_not_grow_because_the_gradient_shrinks(samples):
    """Up to step 60 both grow; later both are smaller, the gradient more so (at these stops: see the test below)."""
    model = MLP(seed=0).double()
    optimizer, found = torch.optim.SGD(model.parameters(), 0.2), []
    stops = (0, 20, 40, 60, 80, 100, 200, 400)
    for first, last in zip((0, *stops), stops, strict=False):
        train(model, samples, optimizer, last - first, 64, first=first)
        found.append(noise(single_gradients(model, samples)))
    growing, falling = found[:4], found[3:]
    for sooner, later in pairwise(growing):
        assert later.signal > sooner.signal and later.variance > sooner.variance
    for sooner, later in pairwise(falling):
        assert later.signal < sooner.signal and later.variance < sooner.variance
    begin, top, end = found[0], found[3], found[-1]
    assert top.signal > 3 * begin.signal and top.variance > 3 * begin.variance and top.scale < begin.scale
    assert end.signal < top.signal / 8 and end.variance > top.variance / 2.2 and end.scale > 4 * top.scale


def test_the_noise_scale_jumps_from_step_to_step_and_grows_on_average(samples):
    """Not "from step 60 on both fall": the gradient is larger at 90, and at 250 the scale is that of step 0."""
    model = MLP(seed=0).double()
    optimizer, found = torch.optim.SGD(model.parameters(), 0.2), {}
    for step in range(60, 301, 10):
        train(model, samples, optimizer, 10 if found else 60, 64, first=step - 10 if found else 0)
        found[step] = noise(single_gradients(model, samples))
    assert found[90].signal > found[60].signal
    assert found[250].scale == pytest.approx(92, abs=1) and found[300].scale == pytest.approx(456, abs=2)
    early, later = (noise_scale.mean(found[s] for s in range(first, first + 100, 10)) for first in (100, 200))
    assert later.variance < early.variance and later.scale > early.scale > 1.5 * found[60].scale


@pytest.mark.parametrize("b, B", [(4, 16), (64, 256), (128, 1024)])
def test_without_replacement_the_two_sizes_do_not_matter(samples, b, B):
    """Not "the more so the larger the part of all samples": the data set alone decides."""
    true, N = noise(single_gradients(MLP(seed=0).double(), samples)), len(samples.y)
    own, average = (true.signal + true.variance * (N - size) / (N - 1) / size for size in (b, B))
    found = noise_scale.from_two_sizes(own, b, average, B)
    assert found.signal == pytest.approx(true.signal - true.variance / (N - 1))
    assert found.variance == pytest.approx(true.variance * N / (N - 1))


def test_drawing_without_replacement_makes_the_noise_scale_look_larger(samples):
    """The control: with replacement the two-size estimate is right; without it is off by the amount that is derived."""
    each, draw = single_gradients(MLP(seed=0).double(), samples), torch.Generator().manual_seed(0)
    N, b, B, true = len(each), 64, 256, noise(each)

    def estimate(chosen):
        sizes = [noise_scale.square([each[part].mean(0)]) for part in chosen.split(b)]
        return noise_scale.from_two_sizes(sum(sizes) / len(sizes), b, noise_scale.square([each[chosen].mean(0)]), B)

    without = noise_scale.mean(estimate(torch.randperm(N, generator=draw)[:B]) for _ in range(300))
    with_it = noise_scale.mean(estimate(torch.randint(N, (B,), generator=draw)) for _ in range(300))
    spread = [true.variance * (N - size) / (N - 1) / size for size in (b, B)]
    derived = noise_scale.from_two_sizes(true.signal + spread[0], b, true.signal + spread[1], B)
    assert with_it.scale == pytest.approx(true.scale, rel=0.04)
    assert without.scale == pytest.approx(derived.scale, rel=0.04) and derived.scale > 1.05 * true.scale


def steps_to(samples, size, rate, seed, target=0.5, most=120, every=5) -> float:
    """Steps until the mean loss over all samples is below the target."""
    model = MLP(seed=0).double()
    optimizer = torch.optim.SGD(model.parameters(), rate)
    for step in range(0, most, every):
        train(model, samples, optimizer, every, size, seed, first=step)
        with torch.no_grad():
            if loss_sum(model, samples)[0].item() < target * len(samples.y):
                return step + every
    return math.inf


@pytest.mark.parametrize("seed", (0, 1))
def test_small_batches_need_fewer_steps_than_the_noise_scale_says(samples, seed):
    scale, N = noise(single_gradients(MLP(seed=0).double(), samples)).scale, len(samples.y)
    fewest = min(steps_to(samples, N, rate, seed) for rate in (0.4, 0.8))
    for size, factor in ((16, 2.0), (64, 1.4)):
        measured = min(steps_to(samples, size, rate, seed) for rate in (0.4, 0.8)) / fewest
        said = noise_scale.steps_to_target(size, scale) / noise_scale.steps_to_target(N, scale)
        assert 1.0 < measured < said / factor


def test_how_often_one_looks_decides_how_many_steps_16_samples_take(samples):
    """The loss jumps: looked at after every step it is below the target sooner, and 1.7 times the steps are enough."""
    found = {size: min(steps_to(samples, size, rate, 0, every=1) for rate in (0.4, 0.8)) for size in (16, 1437)}
    assert found[16] / found[1437] == pytest.approx(1.7, abs=0.05)
    assert min(steps_to(samples, 16, rate, 0) for rate in (0.4, 0.8)) > 1.4 * found[16]


def test_without_noise_a_rate_of_1_6_is_no_better_than_0_8(samples):
    assert steps_to(samples, len(samples.y), 1.6, 0) > steps_to(samples, len(samples.y), 0.8, 0)


# Scale ----------------------------------------------------------------------------------------------------------------


def test_delays_of_a_tenth_cost_100000_ranks_half_the_time():
    assert 0.45 < stragglers.exponential_wait(1, 1.0, 0.1) / stragglers.exponential_wait(131_072, 1.0, 0.1) < 0.5


def test_a_sequence_with_more_work_than_the_mean_is_waited_for_however_it_is_dealt():
    """The page's draw comes out within 1 %; another one, with one very long sequence, 70 % above the mean."""
    for seed, above in ((0, 1.01), (3, 1.696)):
        lengths = np.random.default_rng(seed).lognormal(5.5, 0.8, 64).astype(int).tolist()
        costs = sequence_lengths.sequence_work(lengths, width=1024)
        loads = sequence_lengths.loads(costs, sequence_lengths.deal(costs, 8))
        assert sequence_lengths.imbalance(loads) == pytest.approx(above, abs=0.002)
    assert max(loads) == max(costs)


def test_normal_delays_grow_by_less_than_the_root_of_2_ln_P():
    """It is a bound, and not the mean: four tenths too much for 8 ranks, a ninth for 8,192."""
    for P, share in ((8, 0.70), (1024, 0.87), (8192, 0.90)):
        wait = stragglers.expected_wait(norm.isf, P)
        assert wait / math.sqrt(2 * math.log(P)) == pytest.approx(share, abs=0.01)


def test_samples_of_a_rank_whose_gradients_are_dropped_come_again_on_others():
    """Not never: each epoch deals them out anew. In one epoch they are lost."""
    samples = Data(torch.arange(40), torch.arange(40))

    def learned(epochs):
        kept = (batch(samples, 8, step, rank=rank, ranks=4) for step in range(5 * epochs) for rank in range(3))
        return {sample for each in kept for sample in each.x.tolist()}

    assert len(learned(1)) == 30 and len(learned(8)) == 40


def test_beyond_the_noise_scale_updates_still_get_a_little_better():
    at_it, endless = (noise_scale.steps_to_target(size, 100.0) for size in (100, 10**9))
    assert at_it / endless == pytest.approx(2)


def test_two_buckets_are_exposed_where_the_embedding_has_nothing_to_compute():
    """In the backward pass it is ready as soon as the first layer is: hidden behind nothing, as that one."""
    seconds = on_nodes(8, Link(2e-6, 1 / 300e9), Link(5e-6, 1 / 50e9))
    layers = timed(gpt(4096, 32, 32000, 4096), 2, 400e12, itemsize=2)
    buckets = step_time.by_limit(layers, 400 * 2**20)
    late = step_time.step_of(layers, buckets, lambda nbytes: seconds(64, nbytes)).exposed
    embedding, first = (seconds(64, layer.nbytes) for layer in layers[:2])
    assert late == pytest.approx(embedding + first) and late > 1.6 * first


@pytest.mark.parametrize("samples, kept", [(8, 0.987), (1, 0.753)])
def test_12_500_nodes_pay_for_those_beyond_a_power_of_two(samples, kept):
    """Halving and doubling folds them first: fewer ranks than in the table's last column, and less is left."""
    seconds = on_nodes(8, Link(2e-6, 1 / 300e9), Link(5e-6, 1 / 50e9), "halving-doubling")
    layers = timed(gpt(2048, 24, 50257, 2048), samples, 400e12, itemsize=2)
    left = {}
    for P in (100_000, 131_072):
        buckets = step_time.best_buckets(layers, lambda nbytes, P=P: seconds(P, nbytes))
        left[P] = efficiency(layers, buckets, seconds, P)
    assert left[100_000] == pytest.approx(kept, abs=5e-4) and left[100_000] < left[131_072]


def test_the_speed_up_is_the_formula_of_the_page():
    b, scale = 4, 4096
    for P in (8, 1024, 131_072):
        assert speedup(P, b, scale, 1.25) == pytest.approx((1 + scale / b) / (1 + scale / (b * P)) / 1.25)
        assert speedup(P, b, scale) < 1 + scale / b
    limit = 1 + scale / b
    assert speedup(limit, b, scale) > limit / 2 > speedup(limit, b, scale, 1.25)  # more than half: at full efficiency


@pytest.mark.parametrize("b, scale", [(4, 4096), (1, 1), (32, 100)])
def test_more_ranks_than_the_limit_of_the_speed_up_save_less_than_half_of_the_time_and_not_hardly_any(b, scale):
    limit = 1 + scale / b
    assert 1.2 < speedup(10**9, b, scale) / speedup(limit, b, scale) < 2
    assert speedup(8 * 1025, 4, 4096) / speedup(1025, 4, 4096) > 1.7


def test_overlap_hides_all_where_layers_without_gradients_are_computed_last():
    """Frozen first layers: "no step reaches the larger of computing and communicating" needs a last gradient."""
    assert step_time.step(5, [1, 6], [1, 0]).seconds == step_time.often_claimed(5, [1, 6], [1, 0]) == 12
    assert step_time.step(5, [1, 6], [1, 0.1]).seconds > step_time.often_claimed(5, [1, 6], [1, 0.1])


def test_buckets_are_not_a_function_of_the_sizes_alone():
    """Limits, types and the order count, too."""
    assert assign_buckets([4, 4, 4], 8) == [[2, 1], [0]] != assign_buckets([4, 4, 4], 4)
    assert assign_buckets([4, 4, 4], 8, kinds="aba") == [[1], [2, 0]]
    assert assign_buckets([4, 4, 4], 8, order=[1, 0, 2]) == [[1, 0], [2]]


def test_with_few_samples_the_optimizers_step_may_have_the_peak_of_memory():
    """Peak memory was called a straight line: with Adam over all tensors at once (foreach) it is flat at first."""

    def peak(comm, size, foreach):
        words, model = text(16), GPT(Config(length=16, width=256, heads=4, layers=2))
        optimizer = torch.optim.Adam(model.parameters(), 1e-3, foreach=foreach)
        with Meter(comm, module=model, optimizer=optimizer) as meter:
            replica = Replica(comm, model, communicate=lambda comm, i, flat: comm.Iallreduce(mpi.IN_PLACE, flat))
            meter.hold("gradients", *(bucket.flat for bucket in replica.buckets))
            for step in range(2):
                replica.backward(*loss_sum(model, batch(words, size, step)))
                optimizer.step()
        return sum(meter.at_peak.values())

    few, more, many = (launch(peak, 1, size, True).results[0] for size in (1, 4, 16))
    assert few == more < 0.9 * many
    assert launch(peak, 1, 1, False).results[0] < launch(peak, 1, 4, False).results[0] < few
