"""The parameter server: equal to one rank when it waits, late when it does not, and never hanging."""

from collections import Counter

import pytest
import torch

from reference import mpi
from reference.asynchronous.compare import Timed
from reference.asynchronous.parameter_server import (
    ASYNCHRONOUS,
    SYNCHRONOUS,
    Policy,
    bounded,
    server_bytes,
    train_with_servers,
)
from reference.asynchronous.staleness import compensated, largest_rate
from reference.collectives.ring import ring_bytes
from reference.models import MLP, Objective, Quadratic, digits
from reference.worlds import RankFailed, Slow, launch, networks

OBJECTIVE = Objective(MLP((64, 8, 10)), digits(), 13)
QUADRATIC = Quadratic(5, noise=0.1, size=13)


def serial(objective, workers, steps, rate):
    """One rank that adds up the workers' gradients in their order. steps: of each worker."""
    w = objective.start()
    for step in range(max(steps)):
        total, samples = torch.zeros_like(w), 0
        for worker in range(workers):
            if step < steps[worker]:
                g, count = objective.gradient(w, step, worker, workers)
                total += g
                samples += count
        w -= rate * (total / samples)
    return w


@pytest.mark.parametrize("ranks, servers", [(2, 1), (3, 1), (5, 2), (8, 1), (8, 3)])
def test_a_synchronous_server_is_one_rank_to_the_last_bit(ranks, servers):
    expected = serial(OBJECTIVE, ranks - servers, [6] * (ranks - servers), 0.3)
    for trained in launch(train_with_servers, ranks, OBJECTIVE, 6, 0.3, SYNCHRONOUS, servers).results:
        assert torch.equal(trained.w, expected)
        assert {push.delay for push in trained.log} <= {0}


def test_the_same_bits_in_both_worlds(world):
    """Whatever the order of arrival: rank 1 is the last on the virtual cluster, anybody on real ranks."""
    faults = {"faults": [Slow(1, 9.0)]} if world == "virtual" else {}

    def program(comm):
        return train_with_servers(comm, Timed(comm, OBJECTIVE, 1e-3), 4, 0.3, SYNCHRONOUS)

    results = launch(program, 3, world=world, **faults).results
    assert all(torch.equal(trained.w, serial(OBJECTIVE, 2, [4] * 2, 0.3)) for trained in results)


def run(policy, ranks=5, steps=12, factor=4.0, objective=QUADRATIC, rate=0.05, servers=1, **how):
    """A launch whose last worker is slow; a gradient takes a second, messages next to nothing."""

    def program(comm):
        mine = steps[comm.rank] if isinstance(steps, list) else steps
        return train_with_servers(comm, Timed(comm, objective, 1.0, **how), mine, rate, policy, servers)

    return launch(program, ranks, faults=[Slow(ranks - 1, factor)])


class Staggered(Timed):
    """The workers' gradients come one after the other, evenly: the first one of each takes up to a second more."""

    def gradient(self, w, step, rank=0, ranks=1):
        mpi.compute(self.comm, rank / ranks if step == 0 else 0)
        return super().gradient(w, step, rank, ranks)


def leads(log, steps):
    """By how much each pushed gradient's clock was ahead of the slowest worker's that was still at work."""
    clocks, found = Counter(), []
    for push in log:
        at_work = [clocks[worker] for worker, number in enumerate(steps) if clocks[worker] < number]
        found.append(push.clock - min(at_work))
        clocks[push.worker] += 1
    return found


@pytest.mark.parametrize("bound", [0, 1, 3])
def test_bounded_staleness_lets_the_fast_wait_and_drops_nothing(bound):
    done = run(bounded(bound), steps=12)
    log = done.results[0].log
    assert max(leads(log, [12] * 4)) == bound and len(log) == 48
    assert max(push.delay for push in log) <= (2 * bound + 1) * 3
    assert done.seconds == pytest.approx(48, abs=0.1)  # in the end all go at the pace of the slow one
    assert max(leads(run(ASYNCHRONOUS, steps=12).results[0].log, [12] * 4)) == 8  # 12 against 3 and a bit


def test_a_bound_absorbs_chance_but_not_a_rank_that_is_always_slow():
    """Times that vary: the largest of four is 25/12 of the mean, in each step; a bound of 4 wins most of it back."""
    seconds = {
        policy.bound: run(policy, steps=60, factor=1.0, jitter=True).seconds / 60
        for policy in (SYNCHRONOUS, bounded(4), ASYNCHRONOUS)
    }
    assert seconds[0] == pytest.approx(25 / 12, rel=0.1)
    assert seconds[4] < 0.75 * seconds[0] and seconds[float("inf")] <= seconds[4]


def test_asynchronous_delays_are_recorded():
    """Workers of one pace that come one after the other: each gradient is as late as there are others."""

    def staggered(comm):
        return train_with_servers(comm, Staggered(comm, QUADRATIC, 1.0), 12, 0.05)

    log = launch(staggered, 5).results[0].log
    assert [push.delay for push in log] == [0, 1, 2] + [3] * 45
    slow = [push.delay for push in run(ASYNCHRONOUS).results[0].log if push.worker == 3]
    assert max(slow) == 12  # three others, four times as fast


def test_repeat(world):
    """The virtual cluster: the same bits again. Real ranks: the same gradients, in an order of their own."""
    first, again = (launch(train_with_servers, 3, QUADRATIC, 8, 0.1, world=world).results for _ in range(2))
    assert sorted((push.worker, push.clock) for push in first[0].log) == [(k, c) for k in range(2) for c in range(8)]
    assert all(torch.equal(each.w, first[0].w) for each in first) and QUADRATIC.loss(first[0].w) < 1
    if world == "virtual":
        assert torch.equal(first[0].w, again[0].w) and first[0].log == again[0].log


@pytest.mark.parametrize("policy", [SYNCHRONOUS, bounded(1), ASYNCHRONOUS])
@pytest.mark.parametrize("servers", [1, 2])
def test_workers_may_do_fewer_steps(policy, servers):
    """Also none: whoever has left is not waited for."""
    steps = [0] * servers + [5, 0, 2]
    results = run(policy, servers + 3, steps, servers=servers).results
    for server in results[:servers]:
        assert Counter(push.worker for push in server.log) == {0: 5, 2: 2}
    if policy is SYNCHRONOUS:
        assert torch.equal(results[-1].w, serial(QUADRATIC, 3, steps[servers:], 0.05))


def test_no_steps_leave_the_start():
    assert all(
        torch.equal(each.w, OBJECTIVE.start()) for each in launch(train_with_servers, 3, OBJECTIVE, 0, 0.1).results
    )


# Bytes ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("ranks, servers", [(2, 1), (5, 1), (8, 1), (6, 2), (8, 4)])
def test_bytes_at_the_server(ranks, servers):
    """In and out (P - servers) n / servers each, beside a count a message; a ring's rank has 2 (P - 1) / P n."""
    objective, steps = Quadratic(120), 10
    n = 4 * objective.d
    done, nothing = (
        launch(train_with_servers, ranks, objective, number, 0.1, ASYNCHRONOUS, servers) for number in (steps, 0)
    )
    out = [a - b for a, b in zip(done.bytes_sent, nothing.bytes_sent)]
    for server in range(servers):
        came = sum(event.nbytes for event in done.timeline.of(server, "recv") if event.nbytes > 4 * 16)
        came -= sum(event.nbytes for event in nothing.timeline.of(server, "recv") if event.nbytes > 4 * 16)
        assert out[server] == steps * server_bytes(ranks, n, servers)
        assert came == steps * (server_bytes(ranks, n, servers) + 4 * (ranks - servers))
    assert out[servers:] == [steps * (n + 4 * servers)] * (ranks - servers)
    assert server_bytes(8, n) == 4 * ring_bytes(8, 120, 4).max() == 7 * n  # in and out alike


def test_the_servers_port_is_the_bottleneck():
    """Seven workers' messages pass through one port, one after the other; four servers take a quarter each."""
    objective, steps = Quadratic(10_000), 5
    times = {
        servers: launch(
            train_with_servers,
            7 + servers,
            objective,
            steps,
            0.1,
            SYNCHRONOUS,
            servers,
            network=networks.uniform(0.0, 1e-9),
        ).seconds
        for servers in (1, 7)
    }
    finish = 40_000e-9 * 4  # a broadcast at the end
    assert times[1] == pytest.approx(steps * 2 * 7 * 40_000e-9, abs=finish)
    assert times[1] / times[7] > 3


# Remedies -------------------------------------------------------------------------------------------------------------


def test_delay_makes_a_rate_unstable():
    """Eight workers, curvature 1, one after the other: seven updates late, the limit is 0.209 and not 2."""
    objective, limit = Quadratic(3, condition=1.0), largest_rate(1.0, 7)

    def loss(rate, steps=30):
        def staggered(comm):
            return train_with_servers(comm, Staggered(comm, objective, 1.0), steps, rate)

        return objective.loss(launch(staggered, 9).results[0].w) / objective.loss(objective.start())

    assert loss(1.1 * limit) > 10 and loss(0.9 * limit) < 0.01
    with pytest.raises(RankFailed, match=r"7 updates late, is not finite.*smaller rate") as failed:
        loss(1.5, 60)
    assert len(failed.value.errors) == 9 and all(type(e) is FloatingPointError for e in failed.value.errors.values())


def test_compensation_is_told_what_the_worker_had_read():
    """Redone by the letter from the log: g + lambda g g (w_now - w_read)."""
    strength, rate = 0.5, 0.05
    trained = run(Policy(correct=compensated(strength)), 4, 5, rate=rate).results[0]
    w, history = QUADRATIC.start(), [QUADRATIC.start()]
    for push in trained.log:
        read = history[len(history) - 1 - push.delay]
        g, count = QUADRATIC.gradient(read, push.clock, push.worker, 3)
        g = g / count
        w = w - rate * (g + strength * g * g * (w - read))
        history.append(w)
    torch.testing.assert_close(trained.w, w)
    assert max(push.delay for push in trained.log) > 0


# What is refused, and what fails --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ranks, arguments, message",
    [
        (1, (5, 0.1), "1 ranks, 1 of them servers: there must be at least 1 server and 1 worker"),
        (3, (5, 0.1, ASYNCHRONOUS, 3), "at least 1 server and 1 worker"),
        (3, (5, 0.1, ASYNCHRONOUS, 0), "at least 1 server and 1 worker"),
        (3, (-1, 0.1), "0 steps or more"),
        (3, (5, 0.0), "learning rate above 0"),
        (3, (5, 0.1, bounded(-1)), "number of clocks"),
        (3, (5, 0.1, Policy(2, together=True)), "0 if gradients are used together"),
    ],
)
def test_impossible_arguments_are_refused_on_every_rank(ranks, arguments, message):
    with pytest.raises(RankFailed, match=message) as failed:
        launch(train_with_servers, ranks, QUADRATIC, *arguments)
    assert len(failed.value.errors) == ranks


def test_what_is_wrong_on_one_rank_is_told_on_all():
    with pytest.raises(RankFailed, match=r"there must be 0 steps .* \[rank 2\]") as failed:
        launch(lambda comm: train_with_servers(comm, QUADRATIC, -1 if comm.rank == 2 else 5, 0.1), 3)
    assert len(failed.value.errors) == 3


class Broken(Quadratic):
    """Gradient 3 of worker 1 raises, or is not a number."""

    def __init__(self, how):
        super().__init__(4)
        self.how = how

    def gradient(self, w, step, rank=0, ranks=1):
        if (step, rank) == (3, 1) and self.how == "raises":
            raise RuntimeError("no such sample")
        g, count = super().gradient(w, step, rank, ranks)
        return (g * float("nan") if (step, rank) == (3, 1) else g), count


@pytest.mark.parametrize("policy", [SYNCHRONOUS, ASYNCHRONOUS])
@pytest.mark.parametrize("servers", [1, 2])
def test_a_gradient_that_is_no_number_ends_it_on_every_rank(policy, servers):
    with pytest.raises(RankFailed, match="gradient 3 of worker 1") as failed:
        launch(train_with_servers, 3 + servers, Broken("nan"), 9, 0.1, policy, servers)
    assert len(failed.value.errors) == 3 + servers


def test_a_worker_that_raises_ends_the_run_with_its_error():
    with pytest.raises(RankFailed, match="no such sample") as failed:
        launch(train_with_servers, 3, Broken("raises"), 9, 0.1, SYNCHRONOUS)
    assert list(failed.value.errors) == [2] and "Recv" in str(failed.value)  # and the others' roll call


def test_watch_sees_every_update():
    def program(comm):
        seen = []
        train_with_servers(comm, QUADRATIC, 4, 0.1, watch=lambda w: seen.append((mpi.wtime(comm), QUADRATIC.loss(w))))
        return seen

    server, *workers = launch(program, 3).results
    assert len(server) == 8 and server == sorted(server) and workers == [[], []]
