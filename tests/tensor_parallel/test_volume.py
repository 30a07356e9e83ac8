"""What is sent: formulas against the bytes and calls that the virtual cluster counts."""

import math
from collections import Counter

import pytest
import torch

from reference.tensor_parallel import GPT, volume
from reference.tensor_parallel.dropout import Masks
from reference.tensor_parallel.gpt import Block
from reference.worlds import launch

from .cases import SMALL, serial_gpt, tokens

KINDS = set(volume.STEPS)


def one_block(comm, config, how, backward):
    block = Block(comm, serial_gpt(config).blocks[0], Masks(comm), **how)
    x = torch.ones(2, 24 // (comm.size if how.get("sequence") else 1), 32, dtype=torch.float64, requires_grad=True)
    y = block(x)
    if backward:
        y.sum().backward()


def counted(program, ranks, *args):
    """(forward, backward): calls of rank 0, bytes of all ranks; made in two launches. Split calls no collective."""
    found = []
    for backward in (False, True):
        run = launch(program, ranks, *args, backward)
        found.append((Counter({k: v for k, v in run.calls[0].items() if k in KINDS}), sum(run.bytes_sent)))
    (calls, nbytes), (both, in_all) = found
    return (calls, nbytes), (both - calls, in_all - nbytes)


@pytest.mark.parametrize("sequence", [False, True])
@pytest.mark.parametrize("ranks, kv_heads", [(1, 8), (2, 8), (4, 4), (4, 2), (8, 1), (8, 8)])
def test_calls_and_bytes_of_a_block(ranks, kv_heads, sequence):
    config = SMALL._replace(kv_heads=kv_heads, dropout=0.1)
    expected = volume.block(ranks, 2, 24, config, sequence)
    found = counted(one_block, ranks, config, {"sequence": sequence})
    splitting = (
        0 if expected[1].calls["Allreduce"] == volume.block(ranks, 2, 24, SMALL, sequence)[1].calls["Allreduce"] else 1
    )
    for (calls, nbytes), traffic, setup in zip(found, expected, (splitting, 0)):
        assert calls == traffic.calls
        assert nbytes >= 8 * traffic.elements if setup else nbytes == 8 * traffic.elements


@pytest.mark.parametrize("ranks", [2, 4])
def test_bytes_of_a_block_that_gathers_again(ranks):
    config = SMALL
    forward, backward = volume.block(ranks, 2, 24, config, sequence=True, again=True)
    found = counted(one_block, ranks, config, {"sequence": True, "overlap": True})
    assert [nbytes for _, nbytes in found] == [8 * forward.elements, 8 * backward.elements]
    stream, small = ((ranks - 1) * n for n in (2 * 24 * 32, 2 * 6 * 32))
    assert forward.elements == 4 * stream and backward.elements == 6 * stream + small


def whole_gpt(comm, config, how, backward):
    model = GPT(comm, serial_gpt(config), check=False, **how)
    total, _ = model.loss_sum(tokens(config))
    if backward:
        total.backward()


@pytest.mark.parametrize("sequence", [False, True])
def test_calls_and_bytes_of_a_gpt(sequence):
    expected = volume.gpt(4, 2, 24, SMALL, sequence)
    for (calls, nbytes), traffic in zip(counted(whole_gpt, 4, SMALL, {"sequence": sequence}), expected):
        assert calls == traffic.calls and nbytes == 8 * traffic.elements


def test_sequence_parallelism_sends_the_same_bytes_and_gathering_again_a_quarter_more():
    """Norms and biases aside, which are h elements and not b s h (E2-28, E0-21)."""
    b, s, P = 4, 4096, 8
    big = SMALL._replace(width=4096, heads=32)

    def total(**how):
        return sum(one.elements for one in volume.block(P, b, s, big, **how))

    assert total(sequence=True) == pytest.approx(total(), rel=1e-3)
    assert total(sequence=True, again=True) == pytest.approx(1.25 * total(), rel=1e-3)


def test_what_is_sent_grows_with_tokens_and_not_with_weights():
    """It is no all-reduce of gradients (E1-13, E2-02): twice the layer's inner width sends nothing more."""
    one, two = (volume.block(4, 2, 24, SMALL._replace(heads=heads))[0].elements for heads in (4, 8))
    assert one == two and volume.block(4, 4, 24, SMALL)[0].elements == 2 * one
    assert volume.block(4, 2, 24, SMALL)[0].per_rank(4, 2) == 4 * 3 / 4 * 2 * 24 * 32 * 2


@pytest.mark.parametrize("training", [False, True])
@pytest.mark.parametrize("P", [4, 9, 16, 64, 256])
def test_from_how_many_tokens_on_two_dimensions_send_less(P, training):
    h, tokens = 1024, volume.tokens_for_2d(P, 1024, training)
    for m in (64, 1024, 2000, 5000, 25000, 10**6):
        less = volume.mlp_2d(P, m, h, training) < volume.mlp_1d(P, m, h, training)
        assert less == (m > tokens)
    assert (P > 4 or not training) == (tokens < math.inf)
