"""Claims about sequence parallelism that are often made: each with a run that refutes it, and what is right."""

import pytest
import torch
import torch.nn.functional as F

from reference import models
from reference.models import Config
from reference.sequence_parallel import contiguous, gather_attention, merge, ring_attention, ulysses_attention, zigzag
from reference.sequence_parallel.layouts import work
from reference.sequence_parallel.ulysses import across_heads
from reference.sequence_parallel.volume import LayerShape, ring
from reference.tensor_parallel.dropout import Masks
from reference.tensor_parallel.gpt import Block
from reference.worlds import launch

from .serial import inputs


def forward(attend, groups=4):
    """The run of a forward pass on 4 ranks, of which each has whole weights and a quarter of the tokens."""
    layout, x = contiguous(24, 4), inputs(4, groups)[:3]
    return launch(
        lambda comm: attend(comm, *(layout.shard(t, comm.rank, 2) for t in x), layout, checked=False) is None, 4
    )


def test_e2_05_three_methods_three_ways_of_messages():
    """No tensor parallelism is there. A ring's blocks go to the right; an all-to-all goes to everybody."""
    to = {
        attend: {(e.peer - e.rank) % 4 for e in forward(attend).timeline.of(kind="send")}
        for attend in (ring_attention, ulysses_attention)
    }
    assert to == {ring_attention: {1}, ulysses_attention: {1, 2, 3}}
    gathered, ringed = (forward(attend) for attend in (gather_attention, ring_attention))
    assert gathered.bytes_sent == ringed.bytes_sent != forward(ulysses_attention).bytes_sent


def test_e2_10_megatrons_attention_sees_all_tokens_of_its_heads():
    config = Config(length=24, width=32, heads=4, layers=1)

    def program(comm):
        seen = []
        block = Block(comm, models.GPT(config).blocks[0], Masks(comm), sequence=True)
        inner = block.attention.attend
        block.attention.attend = lambda *qkv: seen.extend(tensor.shape for tensor in qkv) or inner(*qkv)
        return block(torch.ones(2, 24 // comm.size, 32)).shape, seen

    for between, inside in launch(program, 2).results:
        assert between == (2, 12, 32)  # half of the tokens
        assert inside == [(2, 2, 24, 8)] * 3  # half of the heads


def test_e2_17_one_query_saves_two_percent_of_the_traffic():
    d = 128
    for s in (1024, 65536):
        assert 1.01 < (4 * s + 2 * s * d + 2 * d) / (2 * s * d + 2 * d) < 1.02  # one query
        assert (4 * s * s + 4 * s * d) / (2 * s * d + 2 * s * d * s / 256) > 3.5  # s queries, tiles of 256


def test_e2_20_grouped_heads_shrink_what_a_dense_layer_sends():
    sent = {groups: forward(ring_attention, groups).bytes_sent[0] for groups in (4, 2, 1)}
    assert sent[4] == 2 * sent[2] == 4 * sent[1]
    assert sent[1] == ring(LayerShape(2, 24, 12, 4, 1, 4, 8)).forward


def test_e4_08_ulysses_attends_over_all_tokens_of_some_heads():
    layout, x = contiguous(24, 4), inputs(4, 4)[:3]

    def program(comm):
        shapes = []

        def attend(q, k, v):
            shapes.extend([q.shape, k.shape])
            return F.scaled_dot_product_attention(q, k, v, is_causal=True)  # any kernel, unchanged

        o = across_heads(comm, *(layout.shard(t, comm.rank, 2) for t in x), attend)
        return o, shapes

    results = launch(program, 4).results
    assert all(shape == (2, 1, 24, 3) for _, shapes in results for shape in shapes)
    whole = F.scaled_dot_product_attention(*x, is_causal=True)
    torch.testing.assert_close(layout.join([o for o, _ in results], 2), whole)
    with pytest.raises(Exception, match="cannot share 4 heads"):
        launch(
            lambda comm: ulysses_attention(
                comm, *(contiguous(24, 3).shard(t, comm.rank, 2) for t in x), contiguous(24, 3)
            ),
            3,
        )


def test_e4_09_a_causal_ring_needs_a_balanced_layout():
    for ranks in (2, 4, 8):
        pairs = work(contiguous(64 * ranks, ranks)).sum(1).double()
        assert pairs.max() / pairs.mean() == pytest.approx(2 - 1 / ranks, rel=0.01)
        assert work(zigzag(64 * ranks, ranks)).sum(1).unique().numel() == 1


def halves():
    """Two halves of a row of scores: output and log-sum-exp of each; and the whole."""
    q, k, v, _ = inputs(1, 1, s=8)
    S = q @ k.transpose(-1, -2) / 3**0.5
    parts = [
        (S[..., cut].softmax(-1) @ v[:, :, cut], S[..., cut].logsumexp(-1, keepdim=True))
        for cut in (slice(4), slice(4, 8))
    ]
    return parts, S.softmax(-1) @ v


def test_e4_22_a_union_of_blocks_is_not_attention():
    ((o1, L1), (o2, L2)), whole = halves()
    for wrong in (o1 + o2, (o1 + o2) / 2):
        assert (wrong - whole).abs().max() > 0.1
    torch.testing.assert_close(merge(o1, L1, o2, L2)[0], whole)


@pytest.mark.parametrize("dtype, most", [(torch.float16, 11), (torch.bfloat16, 88), (torch.float32, 88)])
def test_e4_23_without_the_maximum_it_overflows(dtype, most):
    assert torch.tensor(float(most), dtype=dtype).exp().isfinite()
    S = torch.full((4,), float(most + 1), dtype=dtype)
    assert S.exp().isinf().all() and (S.exp() / S.exp().sum()).isnan().all()
    assert (S - S.max()).exp().eq(1).all()
