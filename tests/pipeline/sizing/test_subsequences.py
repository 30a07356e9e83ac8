"""Subsequences: cuts of equal time, the order of their schedule, and what they do to the bubble."""

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.perf.roofline import device
from reference.pipeline.analysis.draw import picture
from reference.pipeline.analysis.validate import validate
from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.simulate import activations, simulate
from reference.pipeline.sizing.partition import LayerProfile, partition
from reference.pipeline.sizing.subsequences import (
    Work,
    best,
    blocks,
    check_parts,
    equal_lengths,
    equal_seconds,
    peak_tokens,
    sequence_1f1b,
    times,
)

LONG = 131072
WORK = blocks(4096, 4, device("H100 SXM", 0.5).flops, fixed=0.002)
"""A stage of four layers of width 4,096; what does not depend on the length of a pass takes 2 ms."""


def seconds(ends, work):
    return [work.seconds(*part) for part in pairwise((0, *ends))]


def test_the_order_is_the_figure():
    """Two sequences in two parts each: 0 and 1, 2 and 3."""
    assert picture(sequence_1f1b(3, 2, 2)) == [
        "F0 F1 F2 F3 B1 B0 B3 B2",
        "F0 F1 F2 B1 F3 B0 B3 B2",
        "F0 F1 B1 F2 B0 F3 B3 B2",
    ]
    assert sequence_1f1b(4, 6, 1).orders == one_f_one_b(4, 6).orders


@given(st.integers(1, 6), st.integers(1, 5), st.integers(1, 5))
def test_the_order_is_valid_and_shrinks_the_bubble_and_the_memory(p, m, n):
    schedule = sequence_1f1b(p, m, n)
    validate(schedule)
    check_parts(schedule, n)
    check_parts(gpipe(p, m * n), n)
    assert simulate(schedule).bubble == pytest.approx((p - 1) / (m * n + p - 1))
    assert activations(schedule) == [min(p - r + n - 1, m * n) for r in range(p)]
    assert peak_tokens(schedule, equal_lengths(8 * n, n)) == [8 * min(p - r + n - 1, m * n) for r in range(p)]


def test_plain_1f1b_takes_parts_backward_in_the_wrong_order():
    with pytest.raises(ValueError, match=r"rank 0, stage 0, sequence 0: B of its parts in the order \[0, 1\], but"):
        check_parts(one_f_one_b(3, 4), 2)


@given(st.integers(1, 200), st.integers(1, 12), st.floats(0.001, 5), st.floats(0, 1))
def test_parts_of_equal_seconds(s, n, linear, attention):
    """Each has a token, the last ends with the sequence, and no part is off by more than the rounding of its ends."""
    n, work = min(n, s), Work(linear, attention)
    ends = equal_seconds(s, n, work)
    assert len(ends) == n and ends[-1] == s and all(a < b for a, b in pairwise((0, *ends)))
    token = linear + attention * s
    if min(b - a for a, b in pairwise((0, *ends))) > 1:  # where each must have a token, there is no choice
        assert max(seconds(ends, work)) - min(seconds(ends, work)) <= 2 * token + 1e-9


def test_as_good_as_the_best_cut_of_all():
    """The min-max programme of partition.py over blocks of 16 tokens, and the quadratic's solution."""
    work = Work(1.0, 0.01)
    blocks = [LayerProfile(work.seconds(a, a + 16), 0.0) for a in range(0, 1024, 16)]
    found, solved = partition(blocks, 8), equal_seconds(1024, 8, work)
    assert max(seconds(solved, work)) <= found.seconds * 1.001
    assert all(abs(16 * block - token) <= 48 for block, token in zip(found.ends, solved))
    assert max(seconds(equal_lengths(1024, 8), work)) > 1.5 * found.seconds


def test_in_numbers():
    """128K tokens in eight parts on eight stages: the last of equal length takes 4.4 times as long as the first."""
    parts = [round(x, 3) for x in seconds(equal_lengths(LONG, 8), WORK)]
    assert parts == [0.073, 0.109, 0.144, 0.18, 0.215, 0.251, 0.287, 0.322]
    assert equal_seconds(LONG, 8, WORK)[:3] == (35063, 56106, 72699)
    step = lambda m, n, cut: round(times(8, m, cut(LONG, n, WORK), WORK).makespan, 2)  # noqa: E731
    assert [step(1, n, equal_seconds) for n in (1, 2, 4, 8, 16, 32, 64, 128)] == [
        37.62, 21.19, 12.98, 8.9, 6.89, 5.96, 5.64, 5.76
    ]  # fmt: skip
    assert best(8, 1, LONG, WORK) == (64, pytest.approx(5.636, abs=0.001))
    assert best(8, 1, LONG, WORK, equal_lengths) == (128, pytest.approx(5.948, abs=0.001))


def test_equal_lengths_may_be_worse_than_not_to_cut():
    """Eight sequences in two parts: the later one takes two thirds of the time, and the pipeline waits for it."""
    whole, halves, equal = (times(8, 8, ends, WORK).makespan for ends in (
        (LONG,), equal_lengths(LONG, 2), equal_seconds(LONG, 2, WORK)))  # fmt: skip
    assert (round(whole, 2), round(halves, 2), round(equal, 2)) == (70.53, 72.07, 54.14)


def test_equal_seconds_keep_more_tokens():
    """In sequences, of eight on the first stage in eight parts: 8 whole ones, 1.9 or 2.2."""
    kept = [max(peak_tokens(sequence_1f1b(8, 8, len(ends)), ends)) / LONG for ends in (
        (LONG,), equal_lengths(LONG, 8), equal_seconds(LONG, 8, WORK))]  # fmt: skip
    assert kept == pytest.approx([8, 1.875, 2.217], abs=0.001)


def test_what_cannot_be():
    for cut in (equal_lengths, equal_seconds):
        with pytest.raises(ValueError, match="4 tokens cannot be cut into 5 parts: take 1 to 4"):
            cut(4, 5, WORK)
    with pytest.raises(ValueError, match="must be a whole number of at least 1, got 0"):
        sequence_1f1b(2, 3, 0)
    with pytest.raises(ValueError, match=r"ends = \(5, 3\) must rise"):
        times(2, 3, (5, 3), WORK)
    with pytest.raises(ValueError, match=r"ends = \(\) must rise"):
        peak_tokens(sequence_1f1b(2, 3, 1), ())
