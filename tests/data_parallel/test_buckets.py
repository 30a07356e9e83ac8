"""Buckets: a drawn case, the rules for any sizes, and the memory that gradients are views of."""

from math import inf

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn

from reference.data_parallel.buckets import adopt, allocate, assign_buckets

SIZES = st.lists(st.tuples(st.integers(0, 40), st.sampled_from("ab")), max_size=12)
LIMIT = st.integers(1, 60) | st.just(inf)


def test_the_assignment_is_the_figure():
    sizes = [4, 6, 3, 9, 2, 2]  # from the end: 2 2 | 9 | 3 6 | 4, at most 10 a bucket
    assert assign_buckets(sizes, 10) == [[5, 4], [3], [2, 1], [0]]
    assert assign_buckets(sizes, 10, first_limit=2) == [[5], [4], [3], [2, 1], [0]]
    assert assign_buckets(sizes, 13, order=[0, 2, 1, 3, 5, 4]) == [[0, 2, 1], [3, 5, 4]]
    assert assign_buckets(sizes, inf) == [[5, 4, 3, 2, 1, 0]]
    assert assign_buckets(sizes, 1) == [[5], [4], [3], [2], [1], [0]]  # a tensor above the limit travels alone
    assert assign_buckets([], 10) == []


def test_types_do_not_mix_and_the_bucket_that_is_full_first_leaves_first():
    kinds = ["half", "float", "half", "float", "float"]
    assert assign_buckets([2, 4, 2, 4, 4], 8, kinds=kinds) == [[4, 3], [1], [2, 0]]
    assert assign_buckets([2, 4, 2, 4, 4], 8, first_limit=4, kinds=kinds) == [[4], [3, 1], [2, 0]]


@given(SIZES, LIMIT, LIMIT, st.randoms())
def test_rules(drawn, limit, first_limit, random):
    sizes, kinds = [size for size, _ in drawn], [kind for _, kind in drawn]
    order = random.sample(range(len(sizes)), len(sizes))
    buckets = assign_buckets(sizes, limit, first_limit, order, kinds)
    place = {tensor: position for position, tensor in enumerate(order)}
    assert sorted(tensor for bucket in buckets for tensor in bucket) == list(range(len(sizes)))  # each once
    assert all(bucket for bucket in buckets)
    assert all([place[t] for t in bucket] == sorted(place[t] for t in bucket) for bucket in buckets)
    assert [place[bucket[-1]] for bucket in buckets] == sorted(place[bucket[-1]] for bucket in buckets)
    for kind in set(kinds):
        own = [bucket for bucket in buckets if kinds[bucket[0]] == kind]
        assert all({kinds[tensor] for tensor in bucket} == {kind} for bucket in own)
        limits = [first_limit] + [limit] * len(own)
        for most, bucket in zip(limits, own):
            assert len(bucket) == 1 or sum(sizes[tensor] for tensor in bucket) <= most
        for most, bucket, after in zip(limits, own, own[1:]):  # closed because the next one did not fit, and not before
            assert sum(sizes[tensor] for tensor in bucket) + sizes[after[0]] > most


@pytest.mark.parametrize("limits", [(0,), (-1,), (1, 0), (float("nan"),)])
def test_a_bucket_that_holds_nothing_is_refused(limits):
    with pytest.raises(ValueError, match="must hold more than 0 bytes: got a limit of"):
        assign_buckets([1, 2], *limits)


@pytest.mark.parametrize("order", [[0, 0], [0], [0, 1, 2], [1, 2]])
def test_an_order_names_each_tensor_once(order):
    with pytest.raises(ValueError, match=r"an order of 2 tensors names each of 0 ... 1 once, got \["):
        assign_buckets([1, 2], 1, order=order)


# Memory


def test_gradients_are_views_of_the_bucket():
    parameters = [nn.Parameter(torch.ones(shape)) for shape in ((2, 3), (), (4,), (0, 2))]
    buckets = allocate(parameters, [[2, 0], [1, 3]])
    assert [bucket.flat.tolist() for bucket in buckets] == [[0.0] * 10, [0.0]]
    for bucket in buckets:
        for parameter, view in zip(bucket.parameters, bucket.views, strict=True):
            assert view.shape == parameter.shape and view.untyped_storage().data_ptr() == bucket.flat.data_ptr()
            adopt(parameter, view)
    sum((parameter * 2).sum() for parameter in parameters).backward()  # autograd adds to the views in place
    assert [bucket.flat.tolist() for bucket in buckets] == [[2.0] * 10, [2.0]]
    buckets[0].flat[:4] = 7
    assert parameters[2].grad.tolist() == [7.0] * 4 and parameters[0].grad.tolist() == [[2.0] * 3] * 2


def test_a_gradient_of_autograds_own_is_taken_into_the_bucket():
    """As zero_grad(set_to_none=True) leaves it, or a layout of another kind makes it."""
    parameter = nn.Parameter(torch.ones(3, 2))
    (bucket,) = allocate([parameter], [[0]])
    (parameter.t() * torch.arange(6.0).view(2, 3)).sum().backward()
    adopt(parameter, bucket.views[0])
    assert parameter.grad is bucket.views[0] and bucket.flat.tolist() == [0, 3, 1, 4, 2, 5]
    parameter.sum().backward()
    assert parameter.grad is bucket.views[0] and bucket.flat.tolist() == [1, 4, 2, 5, 3, 6]
    parameter.grad = None
    adopt(parameter, bucket.views[0])
    assert bucket.flat.tolist() == [0.0] * 6


def test_types_and_memory():
    parameters = [nn.Parameter(torch.ones(2, dtype=kind)) for kind in (torch.float64, torch.bfloat16)]
    buckets = allocate(parameters, [[1], [0]])
    assert [bucket.flat.dtype for bucket in buckets] == [torch.bfloat16, torch.float64]
