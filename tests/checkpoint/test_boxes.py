"""Boxes against NumPy's indices: every element of every overlap, range and hull, in 0 to 4 dimensions."""

from math import prod

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.checkpoint.boxes import (
    Box,
    as_bytes,
    at,
    consecutive,
    everything,
    flat_boxes,
    flat_range,
    in_words,
    missing,
    of_shape,
)

SHAPES = st.lists(st.integers(1, 5), max_size=4).map(tuple)


@st.composite
def boxes(draw, shape):
    first = [draw(st.integers(0, n - 1)) for n in shape]
    return Box(tuple(first), tuple(draw(st.integers(1, n - a)) for a, n in zip(first, shape)))


@st.composite
def cases(draw, count=2):
    shape = draw(SHAPES)
    return shape, *(draw(boxes(shape)) for _ in range(count))


def numbered(shape):
    return np.arange(prod(shape)).reshape(shape)


@given(cases())
def test_an_overlap_is_what_both_have(case):
    shape, a, b = case
    every = numbered(shape)
    both = a.overlap(b)
    found = set() if both is None else set(every[both.slices].flat)
    assert found == set(every[a.slices].flat) & set(every[b.slices].flat)
    if both:
        assert np.array_equal(every[a.slices][both.within(a)], every[both.slices])
        held = every[b.slices]
        ours = np.isin(held, every[both.slices]).ravel().nonzero()[0]
        assert both.hull(b) == range(ours[0], ours[-1] + 1)


@given(SHAPES, st.data())
def test_a_range_of_elements_is_boxes_in_their_order(shape, data):
    first = data.draw(st.integers(0, prod(shape)))
    after = data.draw(st.integers(first, prod(shape)))
    found = flat_boxes(shape, first, after)
    assert [i for box in found for i in numbered(shape)[box.slices].flat] == list(range(first, after))
    assert len(found) <= max(2 * len(shape) - 1, 1)


@given(cases(3))
def test_what_is_missing_is_in_no_box_and_found_if_anything_is(case):
    shape, *there = case
    covered = np.zeros(shape, bool)
    for box in there:
        covered[box.slices] = True
    hole = missing(shape, there)
    assert (hole is None) == covered.all()
    assert hole is None or not covered[hole.slices].any()


def test_portions_are_views_of_what_they_are_made_of():
    values = torch.zeros(7)
    portion = flat_range(values, (4, 3), 2)
    assert [box for box, _ in portion.parts] == [Box((0, 2), (1, 1)), Box((1, 0), (2, 3))]
    for number, (_, part) in enumerate(portion.parts):
        part.fill_(number + 1)
    assert values.tolist() == [1, 2, 2, 2, 2, 2, 2]
    assert everything(values).parts[0][1].data_ptr() == values.data_ptr()
    assert at(values, (9,), (2,)).parts[0][0] == Box((2,), (7,))
    assert not everything(torch.zeros(0, 3)).parts and not flat_range(torch.zeros(0), (4, 3), 5).parts
    assert consecutive(values, [Box((0, 0), (2, 2)), Box((2, 0), (1, 3))])[1].shape == (1, 3)


def test_a_number_is_the_empty_box():
    assert flat_boxes((), 0, 1) == [of_shape(())] and of_shape(()).overlap(of_shape(())) == of_shape(())
    assert of_shape(()).size == 1 and missing((), []) == of_shape(()) and missing((0, 3), []) is None
    assert in_words(Box((1, 0), (2, 3))) == "[1:3, 0:3]"
    assert as_bytes(torch.tensor(True)).tolist() == [1]
