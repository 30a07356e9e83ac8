"""What is often claimed about data parallelism, and the run that shows otherwise. Numbers as in book/errata*.md."""

import numpy as np
import pytest
import torch
from torch import nn

from reference.collectives.ring import ring_allreduce_cost
from reference.data_parallel.accumulation import micro_batches, relative_error, weights
from reference.data_parallel.average import average_gradients
from reference.data_parallel.batch_norm import statistics, unpack_statistics
from reference.data_parallel.batch_size import decide
from reference.data_parallel.layers import vgg16
from reference.data_parallel.learning_rate import linear, square_root
from reference.data_parallel.memory import replica, synchronisation
from reference.data_parallel.replica import Replica
from reference.data_parallel.scaling import speedup
from reference.data_parallel.step_time import allreduce_time, often_claimed, step
from reference.models import CNN, MLP, Quadratic, batch, digits, gradients, loss_sum, share
from reference.mpi import IN_PLACE, SUM, compute, waitall
from reference.networks import Link
from reference.perf.meter import Meter
from reference.worlds import LaunchError, launch, networks

from .test_scaling import gpt_efficiency
from .timed import timed


def test_e0_01_e4_02_the_mean_of_the_ranks_means_is_not_the_mean_of_the_batch():
    """Four samples whose gradient is 1 on one rank, one whose gradient is 5 on the other: 1.8, and not 3."""

    def program(comm):
        mine, weight = [torch.ones(4), torch.tensor([5.0])][comm.rank], torch.zeros(1, requires_grad=True)
        mean_of_means = comm.allreduce(mine.mean().item(), op=SUM) / comm.size
        (weight * mine).sum().backward()
        average_gradients(comm, [weight], len(mine))
        return mean_of_means, weight.grad.item()

    assert launch(program, 2).results == [(3.0, pytest.approx(1.8))] * 2


def overlapped_step(comm, forward, backward, count):
    compute(comm, forward)
    requests = []
    for seconds in backward:
        compute(comm, seconds)
        requests.append(comm.Iallreduce(IN_PLACE, np.ones(count, np.float32)))
    waitall(requests)


@pytest.mark.parametrize("communication, seconds", [(0.8, 15.8), (1.4, 20.0)])
def test_e0_06_e3_07_e4_56_a_step_is_longer_than_the_larger_of_computing_and_communicating(communication, seconds):
    """5 s forward, ten buckets of 1 s backward: 15 s are claimed for both; the last bucket, or all but one, shows."""
    count, backward, one = 1000, [1.0] * 10, [communication] * 10
    network = networks.uniform(0.0, communication / (4 * count))  # two ranks: a ring takes n beta
    run = launch(overlapped_step, 2, 5.0, backward, count, network=network)
    assert run.seconds == pytest.approx(seconds) == step(5.0, backward, one).seconds
    assert often_claimed(5.0, backward, one) == 15.0 and step(5.0, backward, one).exposed > 0.79


def test_e0_07_neither_the_sum_of_means_nor_their_mean_is_the_gradient_of_the_batch():
    """Four micro-batches of 8, 8, 8 and 2 samples: what each sample of the first and of the last one counts."""
    counts = [8, 8, 8, 2]
    right = weights("sum of sums / all samples", counts)
    assert right == pytest.approx([1 / 26] * 4)
    assert weights("sum of means", counts)[0] / right[0] == pytest.approx(26 / 8)
    mean_of_means = [w / r for w, r in zip(weights("mean of means", counts), right)]
    assert mean_of_means == pytest.approx([26 / 32] * 3 + [26 / 8])
    assert 4 * weights("mean of means", [8] * 4)[0] == pytest.approx(weights("sum of means", [8] * 4)[0])  # K times

    def samples(comm):  # B = K B_micro P
        return comm.allreduce(sum(len(part.y) for part in micro_batches(batch(digits(), 96, 0, 0, comm.rank, 3), 4)))

    assert launch(samples, 3).results == [4 * 8 * 3] * 3


def test_e0_08_float32_sums_need_no_kahan_and_16_bit_sums_fail():
    """Relative errors of sums of 32 and of 4,096 gradients."""
    assert relative_error(32, torch.float32) < 1e-7 and relative_error(512, torch.float32) < 1e-6
    assert relative_error(32, torch.bfloat16) == pytest.approx(0.0045, rel=0.05)
    found = [relative_error(4096, kind) for kind in (torch.bfloat16, torch.float16)]
    assert found == pytest.approx([0.89, 0.23], rel=0.05)
    assert relative_error(512, torch.bfloat16, compensated=True) < 0.002 < relative_error(512, torch.bfloat16)


def noisy(optimizer, k, samples=6000):
    """The mean loss over the last quarter of a run on a quadratic whose gradients are mostly noise; batches of 4 k."""
    objective = Quadratic(100, noise=10.0, size=4 * k)
    w = nn.Parameter(objective.start())
    optimizer, losses = optimizer([w]), []
    for i in range(samples // objective.size):
        g, count = objective.gradient(w.data, i)
        w.grad = g / count
        optimizer.step()
        losses.append(objective.loss(w.data))
    last = losses[len(losses) * 3 // 4 :]
    return sum(last) / len(last)


def test_e1_40_the_linear_rule_is_for_sgd_and_the_square_root_for_adam():
    """Eight times the batch where noise dominates: which rule leaves the run as it was, within 25 %."""

    def run(kind, lr, k):
        return noisy(lambda weights: kind(weights, lr), k)

    same = set()
    for kind, lr in [(torch.optim.SGD, 0.02), (torch.optim.Adam, 0.002)]:
        base = run(kind, lr, 1)
        same |= {(kind, rule) for rule in (linear, square_root) if 0.75 < run(kind, rule(lr, 8), 8) / base < 1.25}
    assert same == {(torch.optim.SGD, linear), (torch.optim.Adam, square_root)}


def test_e2_23_a_synchronisation_of_100_billion_parameters():
    """200 GB of fp16 gradients; each of 8 ranks sends 350 GB: 1.17 s at 300 GB/s one way, 35 s at 10 GB/s."""
    assert replica(10**11).gradients == 200e9 and synchronisation(10**11, 8) == 350e9
    seconds = [ring_allreduce_cost(8, 10**11, 2, Link(0.0, 1 / speed)).seconds for speed in (300e9, 10e9)]
    assert seconds == pytest.approx([350 / 300, 35.0])


def test_e2_24_eight_replicas_of_100_billion_parameters():
    """200 GB of weights, 1.6 TB of training state, 12.8 TB for eight."""
    one = replica(10**11)
    assert one.weights == 200e9 and one.total == 1.6e12 and 8 * one.total == 12.8e12


def test_e2_29_there_is_no_cliff_at_1000_ranks():
    """At equal work a rank nothing happens at 1,000; few samples a rank cost more at 64 than many do at 131,072; and
    how far more samples help is a matter of the noise scale."""
    efficiency = [gpt_efficiency(8, P, "halving-doubling") for P in (512, 1024, 2048, 131_072)]
    assert min(efficiency) > 0.99 and max(efficiency) - min(efficiency) < 0.002
    assert gpt_efficiency(1, 64, "halving-doubling") < 0.97
    limits = [speedup(2000, 8, scale) / speedup(1000, 8, scale) for scale in (1000, 10**6)]
    assert limits == pytest.approx([1.06, 1.98], abs=0.01)  # what another 1,000 ranks bring


def test_e3_05_e4_14_the_last_layer_comes_first():
    """Gradients of layers 3, 2, 1, 0 in this order, and that of layer i travels while layer i - 1 is computed."""

    def program(comm):
        model = timed(comm, [4000] * 4, [1e-3] * 4, [2e-3] * 4)
        own = Replica(comm, model, 16_000, 16_000, communicate=lambda c, i, flat: c.Iallreduce(IN_PLACE, flat))
        comm.Barrier()
        own.backward(model(torch.ones(1)).sum(), 1)
        return own.ready_order

    run = launch(program, 2, network=networks.uniform(1e-6, 1e-8))
    assert run.results == [[3, 2, 1, 0]] * 2
    end = max(event.end for event in run.timeline.of(0, "compute"))
    middles = [(e.start + e.end) / 2 for e in run.timeline.of(0, "send") if e.nbytes == 8000]  # two of each bucket
    meanwhile = [(end - middle) // 2e-3 for middle in middles]
    assert meanwhile == [2, 2, 1, 1, 0, 0, -1, -1]  # the layer that is computed; -1: none, the last one is exposed


def test_e3_06_early_convolutions_compute_and_fully_connected_layers_send():
    shapes = {shape.name: shape for shape in vgg16()}
    assert shapes["conv1_2"].flops_per_byte > 50_000 * shapes["fc6"].flops_per_byte
    sent = sum(s.parameters for name, s in shapes.items() if name.startswith("fc")) / 138_357_544
    computed = sum(s.flops for name, s in shapes.items() if name.startswith("fc")) / sum(
        s.flops for s in shapes.values()
    )
    assert sent == pytest.approx(0.894, abs=1e-3) and computed == pytest.approx(0.008, abs=1e-3)
    found = []
    model, x = CNN(channels=(8, 16)), digits().x[:32]
    with Meter(module=model) as meter:
        y = x.view(-1, 1, 8, 8)
        for name, layer in [("first", model.stages[0]), ("rest", model.stages[1]), ("head", model.head)]:
            with meter.label(name):
                y = layer(y.flatten(1) if name == "head" else y)
            found.append(meter.by_label[name].flops / sum(p.nbytes for p in layer.parameters()))
    assert found[0] > 3 * found[1] > 9 * found[2]  # FLOPs for each byte of gradient: measured, and falling


def accumulated(comm, K, sync_each=False):
    """One step of 24 samples a rank in K micro-batches."""
    model = MLP()
    own, data = Replica(comm, model, 2**20, 2**20), batch(digits(), 24 * comm.size, 0, 0, comm.rank, comm.size)
    comm.Barrier()
    for k, part in enumerate(micro_batches(data, K)):
        own.backward(*loss_sum(model, part), sync=sync_each or k == K - 1)
    return [p.grad.clone() for p in model.parameters()]


def test_e3_08_e4_68_accumulation_does_not_make_messages_larger_but_fewer_for_each_sample():
    runs = [launch(accumulated, 4, K) for K in (1, 2, 8)]
    for run in runs[1:]:
        assert run.bytes_sent == runs[0].bytes_sent and run.messages == runs[0].messages
        sizes = [sorted(e.nbytes for e in each.timeline.of(kind="send")) for each in (run, runs[0])]
        assert sizes[0] == sizes[1]
    with Meter() as whole:
        gradients(MLP(), batch(digits(), 64, 0))
    with Meter() as parts:
        for i in range(4):
            gradients(MLP(), batch(digits(), 64, i))
    assert parts.total.flops == 4 * whole.total.flops  # four micro-batches: four times the kernels, not larger ones


def test_e3_19_a_loop_that_synchronises_each_time_sends_k_times_as_much():
    """DDP without no_sync. (An `if (step + 1) % K == 0` behind the loop is always true there: it changes nothing.)"""
    K = 4
    once, each = (launch(accumulated, 4, K, sync_each) for sync_each in (False, True))
    barrier = launch(lambda comm: (Replica(comm, MLP(), 2**20, 2**20), comm.Barrier()), 4).bytes_sent[0]
    assert each.bytes_sent[0] - barrier == K * (once.bytes_sent[0] - barrier)


def test_e3_15_sums_in_fp16_overflow_unless_they_are_divided_before():
    """8 ranks with gradients of 10,000: fp16 ends at 65,504. Divided before, small ones vanish; in fp32 neither."""

    def mean(comm, g, before, kind):
        x = np.array([g / before], kind)
        with np.errstate(over="ignore"):
            comm.Allreduce(IN_PLACE, x)
        return float(x[0]) / (comm.size / before)

    def found(g, before, kind=np.float16):
        return launch(mean, 8, g, before, kind).results[0]

    assert found(10_000.0, 1) == np.inf and found(10_000.0, 8) == 10_000.0
    assert found(1e-7, 8) == 0.0 and found(1e-7, 1) == pytest.approx(1.2e-7, rel=0.01)
    assert found(10_000.0, 1, np.float32) == 10_000.0 and found(1e-7, 8, np.float32) == pytest.approx(1e-7)


def test_e3_26_batch_sizes_that_ranks_choose_for_themselves_end_in_a_deadlock():
    """Rank 1 needs more memory and takes smaller batches, so more steps: its last all-reduce finds nobody."""

    class Alone:
        def Allreduce(self, send, recv, op=None):
            """What one rank brings is what comes out."""

    def epoch(comm, agreed):
        size = decide(comm if agreed else Alone(), 16, 50.0 + 30 * comm.rank, 1.0, 100.0).size
        mine = share(range(320), comm.rank, comm.size)
        for _ in range(0, len(mine), size):
            comm.Allreduce(IN_PLACE, np.ones(4))
        return size

    assert len(set(launch(epoch, 2, True).results)) == 1
    with pytest.raises(LaunchError):
        launch(epoch, 2, False)


def test_e3_33_the_statistics_of_batch_norm_are_not_those_of_the_large_batch():
    """4,096 samples in micro-batches of 4: the variance is a quarter too small on average, and each time another."""
    x = torch.randn(4096, 3, generator=torch.Generator().manual_seed(0))
    whole = unpack_statistics(statistics(x))[2] / 4096
    parts = torch.stack([unpack_statistics(statistics(part))[2] / 4 for part in x.split(4)])
    assert (parts.mean(0) / whole).tolist() == pytest.approx([0.75] * 3, abs=0.03)  # (n - 1) / n
    assert (parts.std(0) / whole).min() > 0.5


def test_e3_37_without_zero_grad_gradients_are_wrong_and_memory_stays():
    """.grad is added to in place. What keeps memory is a loss that is kept with its graph and never goes backward."""
    model, live, kept = MLP(), [], []
    with Meter(module=model) as meter:
        for i in range(4):
            total, count = loss_sum(model, batch(digits(), 32, i))
            (total / count).backward()
            live.append(meter.live["gradients"])
    right = MLP()
    gradients(right, batch(digits(), 32, 3))
    assert live == [sum(p.nbytes for p in model.parameters())] * 4
    assert model[0].weight.grad.norm() > 2 * right[0].weight.grad.norm()
    with Meter(module=model) as meter:
        losses = 0.0
        for i in range(4):
            total, _ = loss_sum(model, batch(digits(), 32, i))
            losses = losses + total  # not total.item()
            kept.append(meter.live["activations"])
    assert kept[3] > 3 * kept[0] - kept[0] // 4 and losses.requires_grad


def test_e3_39_without_the_division_sgd_goes_p_times_too_far_and_adam_hides_it():
    def program(comm, kind, divide):
        model = MLP()
        optimizer = kind(model.parameters(), 0.01)
        total, count = loss_sum(model, batch(digits(), 32, 0, 0, comm.rank, comm.size))
        (total / count).backward()
        for p in model.parameters():
            comm.Allreduce(IN_PLACE, p.grad)
            p.grad /= comm.size if divide else 1
        before = model[0].weight.detach().clone()
        optimizer.step()
        return (model[0].weight.detach() - before).norm().item()

    ratios = [
        launch(program, 4, kind, False).results[0] / launch(program, 4, kind, True).results[0]
        for kind in (torch.optim.SGD, torch.optim.Adam)
    ]
    assert ratios == pytest.approx([4.0, 1.0], rel=1e-3)


def test_e4_07_with_tensor_and_pipeline_parallelism_a_rank_sends_its_shard():
    """70 billion parameters, TP 8 and PP 4, 16 replicas: 2 (P - 1) / P of 1/32 of the gradients."""
    model = 2 * 70 * 10**9
    assert synchronisation(70 * 10**9, 16, shards=32) == pytest.approx(2 * model * 15 / 16 / 32)
    assert synchronisation(70 * 10**9, 16) == pytest.approx(2 * model * 15 / 16)


def test_e4_64_alpha_plus_n_over_bandwidth_is_one_message_and_not_an_all_reduce():
    """8 ranks: 14 latencies and 1.75 times the bytes."""
    network, n = networks.uniform(1e-5, 1e-9), 8 * 10**6
    run = launch(lambda comm: comm.Allreduce(IN_PLACE, np.zeros(n // 4, np.float32)), 8, network=network)
    assert run.seconds == pytest.approx(14e-5 + 1.75 * n * 1e-9) == allreduce_time(8, network, "ring")(n)
    assert run.seconds > 1.7 * (1e-5 + n * 1e-9)
