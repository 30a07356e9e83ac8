"""The GPT with its sequence cut: the serial GPT is the specification, its losses and gradients, and after 20 steps."""

from functools import partial

import pytest
import torch

from reference.models import GPT, IGNORED, Config, Data, generator, loss_sum
from reference.models import gradients as serial_gradients
from reference.perf.meter import Meter
from reference.sequence_parallel.gpt import SequenceParallelGPT, gradients, shard, shard_gpt
from reference.sequence_parallel.layouts import contiguous, striped, zigzag, zigzag_documents
from reference.sequence_parallel.usp import grid, usp_attention
from reference.worlds import launch

SMALL = Config(vocabulary=11, length=24, width=16, heads=4, layers=2, kv_heads=2)


def text(steps=1, b=2, s=24):
    """Sequences whose targets are shifted already; some are IGNORED, so that ranks count differently."""
    tokens = torch.randint(11, (steps, b, s + 1), generator=generator(3))
    x, y = tokens[..., :-1].clone(), tokens[..., 1:].clone()
    y[..., :3] = IGNORED
    return [Data(*pair) for pair in zip(x, y)]


def model():
    return GPT(SMALL).double()


def trained(comm, layout, method, batches):
    """The loss of each step, the gradients of the last one, the weights after it."""
    sharded = shard_gpt(comm, model(), layout, method, block=4)
    optimizer = torch.optim.SGD(sharded.parameters(), 0.3, momentum=0.9)
    losses = []
    for data in batches:
        losses.append(gradients(comm, sharded, shard(data, layout, comm.rank)))
        optimizer.step()
    names = [name.removeprefix("model.") for name, _ in sharded.named_parameters()]
    return losses, *(dict(zip(names, found)) for found in ([w.grad for w in sharded.parameters()],
                                                           [w.detach() for w in sharded.parameters()]))  # fmt: skip


def serial(batches):
    whole = model()
    optimizer = torch.optim.SGD(whole.parameters(), 0.3, momentum=0.9)
    losses = []
    for data in batches:
        losses.append(serial_gradients(whole, data))
        optimizer.step()
    named = dict(whole.named_parameters())
    return losses, {name: w.grad for name, w in named.items()}, {name: w.detach() for name, w in named.items()}


@pytest.mark.parametrize("method, layout", [
    ("ring", zigzag(24, 3)), ("ring", contiguous(24, 1)), ("gather", striped(24, 2)), ("gather", contiguous(24, 8)),
    ("ulysses", contiguous(24, 4)), ("ulysses", zigzag(24, 2)),
])  # fmt: skip
def test_losses_and_gradients_are_those_of_the_serial_model(method, layout):
    wanted = serial(text())
    for found in launch(trained, layout.ranks, layout, method, text()).results:
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-9, atol=1e-12)


def test_and_still_after_20_steps():
    wanted = serial(text(20))
    results = launch(trained, 2, zigzag(24, 2), "ring", text(20)).results
    assert wanted[0][-1] < 0.9 * wanted[0][0]
    for found in results:
        for one, other in zip(found, wanted, strict=True):
            torch.testing.assert_close(one, other, rtol=1e-6, atol=1e-9)
    assert all(torch.equal(results[0][2][name], results[1][2][name]) for name in wanted[2])  # the same bits


@pytest.mark.mpi
def test_on_real_ranks():
    wanted = serial(text(2))
    for found in launch(trained, 2, zigzag(24, 2), "ring", text(2), world="mpi").results:
        torch.testing.assert_close(found[2], wanted[2], rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("layout", [zigzag_documents([4, 12, 8], 2), contiguous([5, 12, 7], 3)])
def test_packed_documents_are_as_if_each_were_alone(layout):
    """The sum of the losses of the documents, each through the serial GPT by itself, from position 0 on."""
    (data,), lengths = text(), torch.bincount(layout.tokens.documents).tolist()
    whole = model()
    pieces = [Data(*pair) for pair in zip(data.x.split(lengths, 1), data.y.split(lengths, 1))]
    losses = [loss_sum(whole, piece) for piece in pieces]
    count = sum(number for _, number in losses)
    (sum(total for total, _ in losses) / count).backward()
    wanted = {name: weight.grad for name, weight in whole.named_parameters()}
    for (loss,), found, _ in launch(trained, layout.ranks, layout, "ring", [data]).results:
        assert loss == pytest.approx(float(sum(total.detach() for total, _ in losses)) / count, rel=1e-12)
        torch.testing.assert_close(found, wanted, rtol=1e-9, atol=1e-12)


def test_over_a_grid():
    layout = zigzag(24, 2)

    def program(comm):
        attend = partial(usp_attention, *grid(comm, 2), layout=layout)
        sharded = SequenceParallelGPT(model(), layout.split(2), comm.rank, attend)
        loss = gradients(comm, sharded, shard(text()[0], layout.split(2), comm.rank))
        return loss, [weight.grad for weight in sharded.parameters()]

    losses, wanted, _ = serial(text())
    for loss, found in launch(program, 4).results:
        assert loss == pytest.approx(losses[0], rel=1e-12)
        torch.testing.assert_close(found, list(wanted.values()), rtol=1e-9, atol=1e-12)


def test_a_rank_holds_its_share_of_the_activations():
    def program(comm, s):
        small = GPT(SMALL._replace(length=s))
        sharded = shard_gpt(comm, small, contiguous(s, comm.size), "ring", block=16)
        data = shard(text(s=s)[0], contiguous(s, comm.size), comm.rank)
        with Meter(module=sharded) as meter:
            loss_sum(sharded, data)[0].backward()
        return meter.peak["activations"]

    alone, shared = (max(launch(program, ranks, 64).results) for ranks in (1, 4))
    assert shared < 0.4 * alone


def test_targets_that_are_shifted_after_the_cut_are_wrong_at_every_border():
    """The target of a rank's last token is the first token of the next part, which that rank does not hold."""
    layout, tokens = contiguous(24, 3), torch.arange(25)[None]
    right = shard(Data(tokens[:, :-1], tokens[:, 1:]), layout, 1)
    assert right.x[0].tolist() == list(range(8, 16)) and right.y[0].tolist() == list(range(9, 17))
    late = torch.cat([right.x[:, 1:], right.x[:, :1]], 1)
    assert (late != right.y)[0].tolist() == [False] * 7 + [True]


def test_what_is_refused():
    def program(comm):
        layout = zigzag(24, 2)
        for make, match in (
            (lambda: shard_gpt(comm, GPT(SMALL._replace(dropout=0.1)), layout), "without dropout here, got 0.1"),
            (lambda: shard_gpt(comm, GPT(SMALL._replace(length=20)), layout), "24 tokens; this model has positions"),
            (lambda: shard_gpt(comm, model(), layout, "star"), "no method 'star' here; choose one of: ring, ulysses"),
            (lambda: shard_gpt(comm, model(), zigzag(24, 3)), "a layout over 3 ranks, and 2 are in the group"),
            (lambda: shard_gpt(comm, GPT(Config(heads=1, width=16)), layout, "ulysses"), "2 ranks cannot share 1 head"),
            (lambda: shard_gpt(comm, model(), layout)(torch.zeros(2, 24)), "this rank holds 12 tokens"),
        ):
            with pytest.raises(ValueError, match=match):
                make()

    launch(program, 2)
