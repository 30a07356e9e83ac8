"""Ring attention: the whole sequence on one rank is the specification; seconds, FLOPs and memory are formulas."""

from math import inf

import pytest
import torch

from reference.perf.meter import Meter
from reference.perf.roofline import Device
from reference.sequence_parallel.gather_kv import gather_attention
from reference.sequence_parallel.layouts import contiguous, striped, zigzag, zigzag_documents
from reference.sequence_parallel.masks import packed
from reference.sequence_parallel.online_softmax import merge
from reference.sequence_parallel.ring_attention import ring_attention
from reference.sequence_parallel.volume import LayerShape, block_flops, overlapped, transfer
from reference.worlds import launch, networks

from .serial import assert_close, assert_equal, inputs, parallel, part, serial


def by_tiles_of_3(comm, q, k, v, layout, causal):
    return ring_attention(comm, q, k, v, layout, causal, block=3)


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize(
    "layout, groups",
    [
        (zigzag(24, 1), 2),
        (contiguous(24, 2), 4),
        (zigzag(24, 2), 1),
        (striped(24, 3), 2),
        (zigzag(24, 3), 4),
        (contiguous(24, 4), 1),
        (zigzag(24, 4), 2),
    ],
)
def test_equal_to_the_whole_sequence(layout, groups, causal):
    x = inputs(4, groups, s=24)
    assert_equal(parallel(by_tiles_of_3, x, layout, causal), serial(x, causal))


def test_equal_on_8_ranks():
    x = inputs(2, 1, s=16)
    assert_equal(parallel(ring_attention, x, zigzag(16, 8)), serial(x))  # a chunk is a single token
    assert_equal(parallel(ring_attention, x, contiguous(16, 8), causal=False), serial(x, causal=False))


@pytest.mark.parametrize("layout", [zigzag([7, 12, 5], 2), zigzag_documents([8, 4, 12], 2), striped([7, 12, 5], 3)])
def test_packed_documents(layout):
    x = inputs(s=24)
    assert_equal(parallel(ring_attention, x, layout), serial(x, tokens=layout.tokens))


@pytest.mark.mpi
def test_equal_on_real_ranks():
    x = inputs(s=24)
    assert_equal(parallel(by_tiles_of_3, x, zigzag(24, 3), world="mpi"), serial(x))


def test_float32_within_rounding_and_bfloat16_travels():
    x = [tensor.float() for tensor in inputs(s=48)]
    exact = serial([tensor.double() for tensor in x])
    assert_close(parallel(ring_attention, x, zigzag(48, 4)), exact, s=48)
    rounded = parallel(ring_attention, [tensor.bfloat16() for tensor in x], zigzag(48, 4))
    assert all(one.dtype == torch.bfloat16 for one in rounded)
    for one, other in zip(rounded, exact, strict=True):
        assert (one.double() - other).abs().max() <= 0.03 * other.abs().max()


# Seconds -------------------------------------------------------------------------------------------------------------


def seconds(layout, causal, flops, link, block=1000):
    """Virtual seconds of a forward pass on a device of so many FLOP/s, all else free."""

    def program(comm):
        x = inputs(s=layout.length, d=8)
        q, k, v = (layout.shard(tensor, comm.rank, 2) for tensor in x[:3])
        with Meter(comm, Device(flops, inf)):
            ring_attention(comm, q, k, v, layout, causal, block, checked=False)

    return launch(program, layout.ranks, network=networks.uniform(link.alpha, link.beta)).seconds


@pytest.mark.parametrize("flops", [1e8, 2e9, 1e12])  # computing takes longer; both are alike; messages take longer
def test_the_next_block_comes_while_this_one_is_computed(flops):
    link, ranks = networks.Link(2e-6, 1e-8), 4
    layer = LayerShape(b=2, s=64, h=4 * 8, a=4, g=2, P=ranks, itemsize=8)
    whole = block_flops(layer) / flops
    found = seconds(contiguous(64, ranks), False, flops, link)
    assert found == pytest.approx(overlapped(whole, whole, layer, link), rel=1e-9)
    blocking = ranks * whole + (ranks - 1) * transfer(layer, link)
    assert found < blocking
    if flops == 1e8:
        assert found == pytest.approx(ranks * whole, rel=1e-9)  # nothing of the transfers is to be seen


def test_a_zigzag_takes_little_more_than_half_of_the_time_of_contiguous_parts():
    link, flops = networks.Link(0.0, 0.0), 1e8
    layer = LayerShape(b=2, s=64, h=4 * 8, a=4, g=2, P=4, itemsize=8)
    whole = block_flops(layer) / flops
    last = overlapped(3 / 4 * whole, whole, layer, link)  # the last rank's; tiles are half as long as a rank's part
    assert seconds(contiguous(64, 4), True, flops, link, block=8) == pytest.approx(last, rel=1e-9)
    folded = overlapped(3 / 4 * whole, whole / 2, layer, link)  # 3, then 2 of 4 pairs of chunks
    assert seconds(zigzag(64, 4), True, flops, link, block=8) == pytest.approx(folded, rel=1e-9)
    assert (last / whole, folded / whole) == pytest.approx((3.75, 2.25))


def test_backward_hides_all_but_the_last_hop():
    """P blocks of 5 products, then the hop that brings dk and dv home."""
    link, flops, ranks = networks.Link(2e-6, 1e-8), 1e8, 3
    layout, layer = contiguous(48, ranks), LayerShape(b=2, s=48, h=4 * 8, a=4, g=2, P=ranks, itemsize=8)

    def program(comm):
        q, k, v, do = (layout.shard(tensor, comm.rank, 2) for tensor in inputs(s=48, d=8))
        o = ring_attention(comm, q.requires_grad_(), k.requires_grad_(), v.requires_grad_(), layout, False, 1000, False)
        with Meter(comm, Device(flops, inf)):
            o.backward(do)

    forward = seconds(layout, False, inf, link)
    found = launch(program, ranks, network=networks.uniform(link.alpha, link.beta)).seconds - forward
    home = transfer(layer, link)
    assert found == pytest.approx(ranks * 2.5 * block_flops(layer) / flops + home, rel=1e-9)


# What a rank computes and holds --------------------------------------------------------------------------------------


def metered(comm, x, layout, causal, attend):
    """FLOPs of the forward pass and the peak of activations in both."""
    with Meter() as meter:
        part(comm, x, layout, causal, attend)
    return meter.by_label["forward"].flops, meter.peak["activations"]


def test_masked_blocks_are_not_computed():
    """Contiguous, rank r computes r + 1 blocks; the impostor computes all P and fails this count."""

    def impostor(comm, q, k, v, layout, causal):
        return ring_attention(comm, q, k, v, layout._replace(tokens=packed([layout.length])), False)

    x, layout = inputs(s=32), contiguous(32, 4)
    block = block_flops(LayerShape(b=2, s=32, h=4 * 3, a=4, g=2, P=4))
    counts = [flops for flops, _ in launch(metered, 4, x, layout, True, ring_attention).results]
    assert counts == [block, 2 * block, 3 * block, 4 * block]
    assert [flops for flops, _ in launch(metered, 4, x, layout, True, impostor).results] == [4 * block] * 4


def peaks(ranks, s, attend=ring_attention):
    """The largest peak of a rank; tiles of 8 tokens."""
    x = inputs(2, 2, s, 8, b=1, dtype=torch.float32)
    return max(peak for _, peak in launch(metered, ranks, x, contiguous(s, ranks), False, tiled(attend)).results)


def tiled(attend):
    return lambda comm, q, k, v, layout, causal: attend(comm, q, k, v, layout, causal, 8)


def test_a_rank_holds_its_part_and_two_blocks_of_keys_whatever_the_ranks():
    """As many tokens a rank, so as many bytes; a rank that collects all keys, or the sequence, holds more."""
    few, many = peaks(4, 32), peaks(5, 40)
    assert many == few
    assert peaks(5, 40, gather_attention) >= many + 2 * 40 * 2 * 8 * 4  # k and v, or dk and dv, of 40 tokens


# What is refused -----------------------------------------------------------------------------------------------------


def test_every_rank_hears_what_is_wrong():
    def program(comm, wrong):
        layout = contiguous(24, 3) if wrong != "layout" or comm.rank else zigzag(24, 3)
        q, k, v = (layout.shard(tensor, comm.rank, 2) for tensor in inputs()[:3])
        if wrong == "length" and comm.rank == 2:
            q = q[:, :, :5]
        if wrong == "width" and comm.rank == 1:
            q, k, v = q[..., :2], k[..., :2], v[..., :2]
        if wrong == "ranks":
            layout = contiguous(24, 2)
        try:
            ring_attention(comm, q, k, v, layout, causal=wrong != "mask" or comm.rank == 0)
        except ValueError as error:
            return str(error)

    for wrong, words in {
        "length": "positions are given for 8 queries and 8 keys, got [2, 4, 5, 3], [2, 2, 8, 3], [2, 2, 8, 3] [rank 2]",
        "width": "rank 1 has 'q [2, 4, 8, 2] torch.float64' where rank 0 has 'q [2, 4, 8, 3] torch.float64'",
        "layout": "rank 1 has 'contiguous, 24 tokens' where rank 0 has 'zigzag, 24 tokens'",
        "mask": "rank 1 has 'False' where rank 0 has 'True'",
        "ranks": "a layout over 2 ranks, and 3 are in the group",
    }.items():
        messages = launch(program, 3, wrong).results
        assert words in messages[0] and len(set(messages)) == 1


def test_the_output_is_the_merge_of_the_blocks():
    """By hand on two ranks, not causal: what rank 0 has is the merge of both halves of the keys."""
    q, k, v, _ = inputs(1, 1, s=8)
    S = q @ k.transpose(-1, -2) / 3**0.5
    halves = [
        (S[..., :4, cut].softmax(-1) @ v[:, :, cut], S[..., :4, cut].logsumexp(-1, keepdim=True))
        for cut in (slice(0, 4), slice(4, 8))
    ]
    found = parallel(ring_attention, inputs(1, 1, s=8), contiguous(8, 2), causal=False)[0]
    torch.testing.assert_close(found[:, :, :4], merge(*halves[0], *halves[1])[0])
