"""Embedding and cross entropy over a vocabulary on several ranks, against torch's on one."""

import pytest
import torch
from torch import nn

from reference.models import IGNORED, cross_entropy_sum
from reference.perf.meter import Meter
from reference.tensor_parallel import vocabulary
from reference.tensor_parallel.vocabulary import VocabularyParallelEmbedding
from reference.worlds import launch

from .cases import numbers


def loss(comm, z, y, pad=0.0):
    """Loss and gradient of this rank's columns of z; padding columns hold `pad`."""
    each = -(-z.shape[-1] // comm.size)
    columns = torch.nn.functional.pad(z, (0, each * comm.size - z.shape[-1]), value=pad)
    mine = columns.chunk(comm.size, -1)[comm.rank].clone().requires_grad_()
    first = comm.rank * each
    total = vocabulary.cross_entropy_sum(comm, mine, y, first, max(0, min(each, z.shape[-1] - first)))
    total.backward()
    return total.detach(), mine.grad


CASES = {
    "plain": numbers(2, 5, 24),
    "logits of 1,000 and more": 1000 * numbers(2, 5, 24),
    "all very negative": numbers(2, 5, 24) - 1e4,
    "23 columns": numbers(2, 5, 23),
    "fewer columns than ranks": numbers(2, 5, 2),
}


@pytest.mark.parametrize("ranks", [1, 2, 3, 5])
@pytest.mark.parametrize("name", CASES)
def test_the_loss_and_gradient_of_all_columns_together(name, ranks):
    z = CASES[name]
    y = torch.arange(10).reshape(2, 5) * 7 % z.shape[-1]
    y[1, 2] = IGNORED
    serial = z.clone().requires_grad_()
    right = cross_entropy_sum(serial, y)
    right.backward()
    for pad in (0.0, 1e5):  # what stands in padding columns has no effect, however large
        found = launch(loss, ranks, z, y, pad).results
        assert all(abs(total - right.detach()) <= 1e-12 * max(1, abs(right.detach())) for total, _ in found)
        gradient = torch.cat([dz for _, dz in found], -1)
        assert torch.allclose(gradient[..., : z.shape[-1]], serial.grad, rtol=0, atol=1e-12)
        assert not gradient[..., z.shape[-1] :].any()


def test_no_target_that_counts_is_a_loss_of_zero():
    total, gradient = launch(loss, 3, numbers(1, 4, 6), torch.full((1, 4), IGNORED)).results[1]
    assert total == 0 and not gradient.any()


def test_what_is_sent_does_not_depend_on_the_vocabulary():
    y = torch.zeros(1, 4, dtype=torch.int64)
    small, large = (launch(loss, 4, numbers(1, 4, V), y) for V in (8, 800))
    assert small.bytes_sent == large.bytes_sent and sum(small.bytes_sent) == 2 * 3 * 3 * 4 * 8
    assert small.calls[0] == {"Allreduce": 2}


def test_no_rank_ever_has_the_logits_of_all_columns():
    """Memory, forward and backward, in units of this rank's columns; one that gathers them needs P of these at once."""

    def program(comm, V):
        z = numbers(64, V // comm.size, seed=comm.rank).requires_grad_()
        with Meter() as meter:
            vocabulary.cross_entropy_sum(
                comm, z, torch.zeros(64, dtype=torch.int64), comm.rank * len(z[0]), len(z[0])
            ).backward()
        return meter.peak["activations"] / z.nbytes

    assert max(launch(program, 8, 4096).results) < 5


def test_a_maximum_of_one_rank_alone_would_overflow():
    """Why the maximum is shared: with its own, each rank would add up other multiples of the same sum."""
    z = torch.tensor([[0.0, 1.0, 200.0, 800.0]], dtype=torch.float64)
    assert torch.isinf(z.exp().sum())
    total, _ = launch(loss, 2, z, torch.tensor([3])).results[0]
    assert total == 0


def embed(comm, table, tokens, pad):
    serial = nn.Embedding(*table.shape, _weight=table)
    layer = VocabularyParallelEmbedding(comm, serial, pad=pad)
    y = layer(tokens)
    y.backward(numbers(*y.shape, seed=9))
    return y.detach(), layer.weight.grad


@pytest.mark.parametrize("ranks", [1, 2, 3, 8])
def test_the_embedding_of_the_serial_table(ranks):
    table, tokens = numbers(16, 6), torch.tensor([[0, 15, 7, 8, 7]])
    y = table[tokens]
    gradient = torch.zeros_like(table).index_put_((tokens,), numbers(*y.shape, seed=9), accumulate=True)
    found = launch(embed, ranks, table, tokens, True)
    for ours, _ in found.results:
        assert torch.equal(ours, y)
    assert torch.allclose(torch.cat([part for _, part in found.results])[:16], gradient)
    assert found.calls[0] == ({"Allreduce": 1} if ranks > 1 else {})
