"""Activations in tiers: the bits of the run that keeps everything, in every budget; seconds; errors."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.models import GPT, TINY, batch, loss_sum, text
from reference.perf.meter import Meter
from reference.tiers.blocks import BLOCK
from reference.tiers.budget import OverBudget
from reference.tiers.http_store import HttpStorage, StoreServer
from reference.tiers.overlap import offloaded_step
from reference.tiers.saved_tensors import OffloadedActivations
from reference.tiers.storages import FolderStorage, HostStorage
from reference.tiers.store import TieredStore, lowest_budget
from reference.tiers.stored import StoreTier
from reference.tiers.tier import Tier
from reference.worlds import launch

from ..examples import examples

SLOW = Tier("slow", read=1e8, write=5e7, latency=1e-5)
CONFIG = TINY._replace(dropout=0.1)
DATA = text(TINY.length)


def train(store=None, steps=2):
    """Losses and weights of two steps, and what was saved in each."""
    torch.manual_seed(0)
    model, losses = GPT(CONFIG), []
    saved = OffloadedActivations(store, model.parameters()) if store else None
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for step in range(steps):
        with saved or torch.enable_grad():
            loss, _ = loss_sum(model, batch(DATA, 2, step))
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses, torch.cat([p.detach().flatten() for p in model.parameters()]), saved and saved.nbytes


def below_of(kind, folder, url):
    return {
        "host": lambda: HostStorage(),
        "files": lambda: FolderStorage(folder, chunk=BLOCK),
        "object store": lambda: HttpStorage(url),
    }[kind]()


@pytest.mark.parametrize("kind", ["host", "files", "object store"])
def test_bits_of_the_run_that_keeps_everything_in_every_budget_down_to_the_lowest(kind, tmp_path):
    def program(comm):
        with StoreServer() as server:

            def store(budget):
                return TieredStore(comm, budget, [StoreTier(below_of(kind, tmp_path, server.url), SLOW)])

            losses, weights, _ = train()
            needed, found = lowest_budget(comm, store(None).below, train), []
            for budget in (needed, 2 * needed, 3 * needed) if kind == "host" else (needed,):
                used = store(budget)
                ours, same, nbytes = train(used)
                found.append((budget, used.bytes_down, used.bytes_up, nbytes))
                assert ours == losses and torch.equal(same, weights) and used.budget.peak <= budget
            with pytest.raises(OverBudget, match="1 bytes are missing") as told:
                train(store(needed - 1))
            assert told.value.missing == 1
        return found

    found = launch(program, 1).results[0]
    for budget, down, up, nbytes in found:
        assert budget < nbytes / 2 and up > nbytes - budget  # one step's worth at least
        assert down <= 2 * nbytes and up <= 2 * nbytes
    assert sorted(found, reverse=True) == sorted(found, key=lambda row: row[1])  # the more fits, the less is copied


def test_the_same_on_real_ranks(world):
    def program(comm):
        losses, weights, _ = train()
        ours, same, nbytes = train(TieredStore(comm, 150_000, [StoreTier(HostStorage(), SLOW)]))
        return ours == losses, torch.equal(same, weights), nbytes > 150_000

    assert launch(program, 1, world=world).results == [(True, True, True)]


def test_what_the_meter_sees_is_less_by_what_went_down():
    def program(comm, budget):
        torch.manual_seed(0)
        model = GPT(TINY)
        saved = OffloadedActivations(TieredStore(comm, budget, [StoreTier(HostStorage())]), model.parameters())
        share = batch(DATA, 2, 0)
        with Meter(comm, module=model) as meter:
            with saved:
                loss, _ = loss_sum(model, share)
            held = meter.live["activations"]
            loss.backward()
        return held, saved.nbytes

    everything, nbytes = launch(program, 1, None).results[0]
    little, _ = launch(program, 1, 100_000).results[0]
    assert everything - little == pytest.approx(nbytes - 100_000, abs=20_000) and nbytes > 170_000


# Seconds ------------------------------------------------------------------------------------------------------------


class Layer(torch.autograd.Function):
    """Computes for given seconds and saves one tensor of 4,000 bytes."""

    @staticmethod
    def forward(ctx, x, comm, forward, backward):
        mpi.compute(comm, forward)
        ctx.save_for_backward(torch.full((1000,), float(forward)))
        ctx.rest = comm, forward, backward
        return x * 2

    @staticmethod
    def backward(ctx, dy):
        comm, forward, backward = ctx.rest
        assert ctx.saved_tensors[0].unique().item() == torch.tensor(forward)
        mpi.compute(comm, backward)
        return dy * 2, None, None, None


def step_seconds(comm, forward, backward, write, read, room):
    """Of the second step."""
    tier = Tier("a link", 4000 / read, 4000 / write)
    saved = OffloadedActivations(TieredStore(comm, 4000 * room, [StoreTier(HostStorage(), tier)]))
    for _ in range(2):
        start, y = comm.wtime(), torch.ones(1, requires_grad=True)
        with saved:
            for i in range(len(forward)):
                y = Layer.apply(y, comm, forward[i], backward[i])
        y.backward()
        seconds = comm.wtime() - start
        mpi.sleep(comm, 1000)  # the first step has written what the second will not
    return seconds


TIMES = st.lists(st.tuples(st.sampled_from([1.0, 2.0, 5.0]), st.sampled_from([1.0, 3.0])), min_size=2, max_size=9)


@examples(12)
@given(times=TIMES, write=st.sampled_from([0.5, 2.0, 7.0]), read=st.sampled_from([0.5, 2.0]), room=st.integers(2, 4))
def test_seconds_of_a_step_are_those_of_the_formula(times, write, read, room):
    forward, backward = map(list, zip(*times))
    L = len(times)
    right = offloaded_step(forward, backward, [write] * L, [read] * L, room)
    assert launch(step_seconds, 1, forward, backward, write, read, room).results == [pytest.approx(right)]
    if write <= min(forward) and read <= min(backward) and room > 2:
        assert right == sum(forward) + sum(backward)  # hidden
    with pytest.raises(ValueError, match="room for 2 or more, got 1"):
        offloaded_step(forward, backward, forward, backward, 1)


# What autograd forbids, and what it allows ---------------------------------------------------------------------------


def offloading(comm, budget=8000):
    return OffloadedActivations(TieredStore(comm, budget, [StoreTier(HostStorage(), SLOW)]))


@pytest.mark.parametrize("small", [True, False])
def test_a_saved_tensor_that_is_changed_in_place_is_an_error_as_without_us(small):
    def program(comm):
        x = torch.ones(2 if small else 1000, requires_grad=True)
        with offloading(comm):
            y = x.exp()
            loss = y.sum()
        with torch.no_grad():
            y.add_(1)
        with pytest.raises(RuntimeError, match="changed in place"):
            loss.backward()

    launch(program, 1)


def test_memory_that_is_changed_and_saved_again_is_another_tensor():
    def program(comm):
        x = torch.randn(1000, requires_grad=True)
        with offloading(comm, 16_000):
            y = x * 3
            unused = y.sin()  # saves y as it is now, and no backward pass goes through it
            y.mul_(2)
            loss = (y * y).sum()
        loss.backward()
        return torch.equal(x.grad, 2 * (6 * x.detach()) * 6), unused.shape[0]

    assert launch(program, 1).results == [(True, 1000)]


def test_one_memory_goes_down_once_whatever_views_are_saved_of_it():
    def program(comm):
        x = torch.randn(1000, requires_grad=True)
        with (saved := offloading(comm, 12_000)):
            y = x * 3
            loss = (y.exp() * y.view(10, 100).t().sin().t().reshape(-1)).sum() + (y * y).sum()
        loss.backward()
        ours, x.grad = x.grad, None
        y = x * 3
        ((y.exp() * y.view(10, 100).t().sin().t().reshape(-1)).sum() + (y * y).sum()).backward()
        return torch.equal(ours, x.grad), saved.nbytes

    right, nbytes = launch(program, 1).results[0]
    assert right and nbytes == 3 * 4000  # y, its exponential, its sine


def test_a_graph_that_is_kept_can_be_gone_through_twice_and_a_step_without_a_backward_pass_is_forgotten():
    def program(comm):
        x, saved = torch.randn(1000, requires_grad=True), offloading(comm)
        found = []
        for _ in range(3):
            with saved:
                loss = x.exp().sin().exp().sum()
        for again in (True, False):
            loss.backward(retain_graph=again)
            found.append(x.grad.clone())
        del loss
        with saved:
            pass
        return torch.equal(2 * found[0], found[1]), len(saved.store._entries), saved.store.held_below

    assert launch(program, 1).results == [(True, 0, [0])]


def test_large_tensors_that_come_back_into_memory_on_a_page():
    def program(comm):
        x = torch.randn(2, 300_000, requires_grad=True)  # 2.4 MB
        loss = x.exp().sin().exp()[1].sum()
        loss.backward()
        ours, x.grad = x.grad, None
        with offloading(comm, 2_400_000) as saved:
            loss = x.exp().sin().exp()[1].sum()
        loss.backward()
        return torch.equal(ours, x.grad), saved.store.bytes_up

    right, up = launch(program, 1).results[0]
    assert right and up >= 2_400_000


def test_an_error_in_the_tier_comes_out_of_the_backward_pass():
    def program(comm):
        x, host = torch.randn(1000, requires_grad=True), HostStorage()
        saved = OffloadedActivations(TieredStore(comm, 4000, [StoreTier(host)]))
        with saved:
            loss = x.exp().sin().exp().sum()
        for copy in host.copies.values():
            copy.data[0] += 1
        loss.backward()

    with pytest.raises(Exception, match=r"saved \d is damaged: the checksum"):
        launch(program, 1)
