"""Online softmax: the softmax of whole rows is the specification, whatever the blocks, the order and the masks."""

from itertools import pairwise

import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.models.seeds import generator
from reference.sequence_parallel.online_softmax import absorb, begin, finish, merge


def scores_and_values(scale=1.0, dtype=torch.float64):
    numbers = generator(0)
    S = scale * torch.randn(2, 5, 12, generator=numbers, dtype=dtype)
    return S, torch.randn(2, 12, 3, generator=numbers, dtype=dtype)


def online(S, V, sizes):
    state = begin(S, V.shape[-1])
    for s, v in zip(S.split(sizes, -1), V.split(sizes, -2)):
        state = absorb(state, s, v)
    return finish(state)


@given(st.sets(st.integers(1, 11)))
def test_whole_rows_in_blocks(cuts):
    bounds = [0, *sorted(cuts), 12]
    sizes = [hi - lo for lo, hi in pairwise(bounds)]
    S, V = scores_and_values()
    o, L = online(S, V, sizes)
    torch.testing.assert_close(o, S.softmax(-1) @ V, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(L, S.logsumexp(-1, keepdim=True), rtol=1e-13, atol=1e-13)


def test_a_merge_weighs_and_a_sum_of_blocks_is_wrong():
    """The blocks' outputs cannot be added or averaged (E4-22): each counts with its share of the exponentials."""
    S, V = scores_and_values()
    first, second, third = (online(s, v, [s.shape[-1]]) for s, v in zip(S.split([2, 3, 7], -1), V.split([2, 3, 7], -2)))
    o, L = merge(*merge(*first, *second), *third)
    torch.testing.assert_close((o, L), online(S, V, [12]), rtol=1e-13, atol=1e-13)
    torch.testing.assert_close((o, L), merge(*first, *merge(*third, *second)), rtol=1e-13, atol=1e-13)
    assert not torch.allclose(first[0] + second[0] + third[0], o, rtol=0.1)
    assert not torch.allclose((first[0] + second[0] + third[0]) / 3, o, rtol=0.1)


def test_large_scores_do_not_overflow():
    """exp(S) is infinite in float32 above 88.7 (E4-23): sums without the maximum give NaN where this is exact."""
    S, V = scores_and_values(scale=300.0, dtype=torch.float32)
    assert S.max() > 88.8
    naive = torch.exp(S) @ V / torch.exp(S).sum(-1, keepdim=True)
    o, L = online(S, V, [4, 4, 4])
    assert not naive.isfinite().all() and o.isfinite().all() and L.isfinite().all()
    torch.testing.assert_close(o.double(), S.double().softmax(-1) @ V.double(), rtol=1e-5, atol=1e-5)


def test_rows_in_which_nothing_is_visible_are_zero():
    S, V = scores_and_values()
    S[0, 1] = -torch.inf  # never
    S[0, 2, :6] = -torch.inf  # not at first
    S[0, 3, 6:] = -torch.inf  # not later
    (o1, L1), (o2, L2) = online(S[..., :6], V[:, :6], [3, 3]), online(S[..., 6:], V[:, 6:], [6])
    for o, L in (online(S, V, [6, 6]), merge(o1, L1, o2, L2)):
        assert (o[0, 1] == 0).all() and L[0, 1] == -torch.inf
        rest = torch.ones(2, 5, dtype=torch.bool)
        rest[0, 1] = False
        torch.testing.assert_close(o[rest], (S.softmax(-1) @ V)[rest], rtol=1e-13, atol=1e-13)
        assert not (o.isnan().any() or L.isnan().any())
