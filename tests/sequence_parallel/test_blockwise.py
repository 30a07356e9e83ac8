"""Blockwise attention: torch's scaled_dot_product_attention is the specification; memory must be linear in s."""

import pytest
import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

from reference.perf.meter import Meter
from reference.sequence_parallel.blockwise import attend, attention
from reference.sequence_parallel.masks import computed_pairs, packed, tiles

from .serial import assert_close, assert_equal, inputs, serial


def blockwise(x, causal=True, tokens=None, block=5, keys=None):
    q, k, v = (tensor.clone().requires_grad_() for tensor in x[:3])
    o = attention(q, k, v, tokens or packed([q.shape[2]]), keys, causal, block)
    o.backward(x[3])
    return [o.detach(), q.grad, k.grad, v.grad]


@pytest.mark.parametrize("causal", [True, False])
@pytest.mark.parametrize("a, g, block", [(1, 1, 3), (4, 4, 5), (4, 1, 24), (6, 2, 7), (4, 2, 1000)])
def test_equal_to_torch(a, g, block, causal):
    x = inputs(a, g)
    assert_equal(blockwise(x, causal, block=block), serial(x, causal))


def test_packed_documents_and_keys_of_their_own():
    x, tokens = inputs(), packed([3, 10, 1, 10])
    assert_equal(blockwise(x, tokens=tokens), serial(x, tokens=tokens))
    last = [x[0][:, :, -5:], x[1], x[2], x[3][:, :, -5:]]  # the last 5 queries, all keys
    found = blockwise(last, tokens=packed([24]).at(torch.arange(19, 24)), keys=packed([24]))
    assert_equal(found[0], serial(x)[0][:, :, -5:])


def test_float32_within_rounding_and_bfloat16_within_its_own():
    exact = inputs(s=96)
    for dtype in (torch.float32, torch.bfloat16):
        x = [tensor.to(dtype) for tensor in exact]
        found, wanted = blockwise(x, block=16), serial([tensor.double() for tensor in x])
        assert all(tensor.dtype == dtype for tensor in found)
        if dtype == torch.float32:
            assert_close(found, wanted, s=96)
        else:  # sums are float32, so that the output is rounded to 8 bits once; O and dO are rounded before dq, dk, dv
            assert ((found[0].double() - wanted[0]).abs() <= 2**-8 * wanted[0].abs() + 1e-6).all()
            for one, other in zip(found, wanted, strict=True):
                assert (one.double() - other).abs().max() <= 2**-6 * other.abs().max()


def test_a_query_that_sees_nothing_gets_zeros_and_gives_no_gradient():
    """Queries of document 1 and keys of documents 0 and 2; torch's result for such rows is zeros, too."""
    x, tokens = inputs(s=12), packed([4, 4, 4])
    keys = tokens._replace(documents=tokens.documents.clone())
    keys.documents[4:8] = 7
    o, dq, dk, dv = blockwise(x, tokens=tokens, keys=keys, block=3)
    for tensor in (o, dq, dk, dv):
        assert (tensor[:, :, 4:8] == 0).all() and not tensor.isnan().any()
        assert (tensor[:, :, :4] != 0).any()


def peaks(attend, s):
    """The most bytes of activations in a forward and a backward pass."""
    x = inputs(2, 2, s, 8, b=1, dtype=torch.float32)
    with Meter() as meter:
        attend(x)
    return meter.peak["activations"]


def test_memory_is_linear_in_the_length_and_the_whole_matrix_is_not():
    def whole(x):
        q, k, v = (tensor.clone().requires_grad_() for tensor in x[:3])
        with sdpa_kernel(SDPBackend.MATH):
            F.scaled_dot_product_attention(q, k, v, is_causal=True).backward(x[3])

    by_blocks = [peaks(lambda x: blockwise(x, block=24), s) for s in (48, 96, 192)]
    assert by_blocks[2] - by_blocks[1] == 2 * (by_blocks[1] - by_blocks[0])  # a s + c
    assert by_blocks[2] / by_blocks[1] < 2
    squared = [peaks(whole, s) for s in (48, 96, 192)]
    assert squared[2] / squared[1] > 3 and squared[2] > 2 * by_blocks[2]


@pytest.mark.parametrize("causal", [True, False])
def test_computes_the_tiles_that_are_visible_and_no_others(causal):
    x, tokens = inputs(4, 2, 24, 3, b=2), packed([16, 8])
    with Meter() as meter:
        blockwise(x, causal, tokens, block=4)
    cut = tiles(tokens, 4)
    pairs = computed_pairs(cut, cut, causal)
    assert pairs == (16 * (4 * 5 / 2 + 2 * 3 / 2) if causal else 16 * 16 + 8 * 8)
    products = {label: cost.flops / (2 * 2 * 4 * 3 * pairs) for label, cost in meter.by_label.items()}
    assert products == {"forward": 2, "backward": 5}  # matrix products of 2 FLOP for b = 2, a = 4, d = 3


def test_a_block_that_is_masked_entirely_costs_nothing():
    q, k, v, _ = inputs(s=8)
    early, late = tiles(packed([16]), 8)

    def operations(blocks):
        with Meter() as meter:
            attend(q, [early], blocks, causal=True)
        return meter.total.operations

    assert operations([([early], (k, v)), ([late], (k, v))]) == operations([([early], (k, v))])


def test_shapes_that_do_not_fit_are_refused():
    q, k, v, _ = inputs()
    for wrong, match in (
        ((q, k, v[:, :1]), r"k and v are alike"),
        ((q, k[:1], v[:1]), "the same number of sequences"),
        ((q[:, :3], k, v), "2 heads of keys and values cannot serve 3 heads"),
        ((q[:, :, :5], k, v), "for 24 queries and 24 keys, got"),
    ):
        with pytest.raises(ValueError, match=match):
            attention(*wrong, packed([24]))
