"""Layouts: who holds what, drawn; and how even the work of the causal mask is, formula and count."""

import pytest
import torch

from reference.sequence_parallel.layouts import (
    balance,
    by_step,
    contiguous,
    contiguous_work,
    striped,
    striped_work,
    work,
    zigzag,
    zigzag_documents,
    zigzag_work,
)

from .serial import mask


def holders(layout):
    """The rank of each token, as a picture."""
    rank = torch.empty(layout.length, dtype=torch.int64)
    for r, places in enumerate(layout.places):
        rank[places] = r
    return "".join(map(str, rank.tolist()))


def test_the_figure():
    assert holders(contiguous(16, 4)) == "0000111122223333"
    assert holders(zigzag(16, 4)) == "0011223333221100"
    assert holders(striped(16, 4)) == "0123012301230123"
    assert holders(zigzag_documents([4, 8, 4], 2)) == "0110" + "00111100" + "0110"
    assert holders(zigzag(16, 2).split(2)) == "0000222233331111"  # rank 0 of two has chunks 0 and 3


@pytest.mark.parametrize("make", [contiguous, zigzag, striped])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_shard_and_join(make, ranks):
    layout, x = make([5, 19], ranks), torch.arange(48).view(2, 24)
    parts = [layout.shard(x, rank, 1) for rank in range(ranks)]
    assert all(part.shape == (2, 24 // ranks) for part in parts)
    assert torch.equal(layout.join(parts, 1), x)
    assert torch.equal(torch.cat([layout.of(rank).positions for rank in range(ranks)]), layout.merged().positions)


@pytest.mark.parametrize("ranks", [1, 2, 4, 8])
def test_work_is_the_formula(ranks):
    s = 64
    for layout, formula in (
        (contiguous(s, ranks), lambda rank: contiguous_work(s, ranks, rank)),
        (zigzag(s, ranks), lambda rank: zigzag_work(s, ranks)),
        (striped(s, ranks), lambda rank: striped_work(s, ranks, rank)),
    ):
        assert work(layout).sum(1).tolist() == [formula(rank) for rank in range(ranks)]
        assert int(work(layout).sum()) == s * (s + 1) // 2
        assert work(layout, causal=False).eq((s // ranks) ** 2).all()


def test_balance():
    s, P = 64, 8
    assert P / (2 * P - 1) < balance(work(contiguous(s, P))) < P / (2 * P - 1) + 0.05
    assert balance(work(zigzag(s, P))) == 1.0
    pairs = work(striped(s, P)).sum(1)
    assert pairs.max() - pairs.min() == s // P * (P - 1)


def test_in_a_zigzag_no_step_of_a_ring_waits():
    steps = by_step(work(zigzag(64, 4)))
    assert (steps == steps[:1]).all()  # the same for all ranks in each step
    assert (steps[:, 1:] == 2 * 8 * 8).all()  # two of four chunk pairs
    waiting = by_step(work(contiguous(64, 4)))
    assert waiting[0].tolist() == [16 * 17 // 2, 0, 0, 0] and waiting[3, 1:].eq(16 * 16).all()


def test_documents_upset_the_balance_and_a_zigzag_of_each_restores_it():
    lengths = [48, 8, 8]
    assert balance(work(zigzag(lengths, 4))) < 0.8
    assert balance(work(zigzag_documents(lengths, 4))) == 1.0
    for layout in (zigzag(lengths, 4), zigzag_documents(lengths, 4)):
        assert int(work(layout).sum()) == int(mask(layout.tokens, True).sum())


@pytest.mark.parametrize(
    "make, arguments, match",
    [
        (contiguous, (5, 8), "5 tokens cannot be cut into 8 equal parts for 8 ranks: pad"),
        (contiguous, (10, 4), "10 tokens cannot be cut into 4 equal parts"),
        (zigzag, (12, 4), "12 tokens cannot be cut into 8 equal parts for 4 ranks"),
        (striped, (0, 2), "0 tokens cannot"),
        (contiguous, ([], 1), "0 tokens cannot"),
        (zigzag_documents, ([8, 6], 2), "6 tokens cannot be cut into 4 equal parts"),
        (zigzag(8, 2).split, (3,), "4 tokens of a rank cannot be cut into 3"),
    ],
)
def test_what_does_not_divide_is_refused(make, arguments, match):
    with pytest.raises(ValueError, match=match):
        make(*arguments)
