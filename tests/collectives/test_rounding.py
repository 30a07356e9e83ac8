"""How equal is equal: the bound holds for every schedule and type, and tells rounding from a bug."""

import math
import re
from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference import mpi
from reference.collectives import ALLREDUCE, allreduce
from reference.collectives.rounding import SLACK, allowance, difference, growth, longest_chain, unit_roundoff
from reference.worlds import launch


def chain(name, P):
    own = ALLREDUCE[name].some_options(P)
    return longest_chain(ALLREDUCE[name].rounds, P, ALLREDUCE[name].blocks(P, **own), **own)


def exact_sums(table):
    """Sums of the rows without any rounding, and of their magnitudes."""
    columns = [[Fraction(float(x)) for x in column] for column in table.T]
    return [sum(column) for column in columns], np.array([float(sum(map(abs, column))) for column in columns])


@pytest.mark.parametrize(
    "dtype, u",
    [
        (np.float64, 2.0**-53),
        ("float32", 2.0**-24),
        ("float16", 2.0**-11),
        (torch.bfloat16, 2.0**-8),
        (torch.float32, 2.0**-24),
        ("int64", 0.0),
        (torch.int32, 0.0),
    ],
)
def test_unit_roundoff_is_half_a_step_at_one(dtype, u):
    assert unit_roundoff(dtype) == u


def test_the_constant_of_a_chain_is_highams():
    hu = 7 * 2.0**-24
    assert growth(7, "float32") == pytest.approx(hu / (1 - hu), rel=2 * (SLACK - 1)) and growth(5, "int32") == 0
    with pytest.raises(ValueError, match="256 additions in a row in torch"):
        growth(256, torch.bfloat16)


@pytest.mark.parametrize("P", [1, 2, 4, 6, 8, 12, 16])
def test_longest_chains_are_those_one_can_count(P):
    log = (P - 1).bit_length()
    assert chain("ring", P) == chain("direct", P) == P - 1
    assert chain("recursive doubling", P) == chain("halving-doubling", P) == chain("binomial tree", P) == log
    assert chain("double tree", P) <= max(0, 2 * log)


@pytest.mark.parametrize("name", ALLREDUCE)
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_every_schedule_keeps_the_bound_also_where_numbers_cancel(name, dtype):
    P, n = 6, 40
    table = np.random.default_rng(1).standard_normal((P, n)) * 10.0 ** np.arange(-3, 3)[:, None]
    table[3] = -table[5]  # the largest cancel
    tensors = torch.tensor(table).to(getattr(torch, dtype))

    def program(comm):
        return (
            allreduce(comm, tensors[comm.rank].clone(), algorithm=name, **ALLREDUCE[name].some_options(P))
            .double()
            .numpy()
        )

    exact, magnitude = exact_sums(tensors.double().numpy())
    for result in launch(program, P).results:
        assert difference(result, exact, magnitude, tensors.dtype, chain(name, P)) is None
    assert difference(result, exact, magnitude, tensors.dtype, 0) is not None  # and it is not exact, either


def test_a_fixed_relative_tolerance_would_be_wrong_where_numbers_cancel():
    """1 + 2^-30 - 1 in float32 is 0: the relative error of the sum is 100 %, and nothing is wrong."""
    x = np.array([1, 2.0**-30, -1], "float32")
    assert not np.isclose(np.float32(x[0] + x[1]) + x[2], 2.0**-30, rtol=0.5, atol=0)
    assert difference((x[0] + x[1]) + x[2], 2.0**-30, np.abs(x).sum(), "float32", 2) is None


@given(st.lists(st.floats(-(2.0**90), 2.0**90, width=32), min_size=1, max_size=20), st.randoms())
def test_any_order_of_additions_keeps_the_bound(numbers, random):
    """Combine two at random until one is left, as no schedule would."""
    parts, h = [(np.float32(x), 0) for x in numbers], 0
    while len(parts) > 1:
        (a, i), (b, j) = (parts.pop(random.randrange(len(parts))) for _ in "ab")
        parts.append((a + b, max(i, j) + 1))
        h = max(h, max(i, j) + 1)
    exact, magnitude = exact_sums(np.array(numbers)[:, None])
    assert abs(Fraction(float(parts[0][0])) - exact[0]) <= Fraction(float(allowance(magnitude[0], "float32", h)))


def test_the_bound_is_nearly_reached():
    """Half a step is lost in each of 1,000 additions: the allowance is not idly large."""
    total, step = np.float32(1), np.float32(2.0**-24)
    for _ in range(1000):
        total += step
    lost = 1000 * 2.0**-24 - (float(total) - 1)
    assert 0.9 < lost / allowance(1 + 1000 * 2.0**-24, "float32", 1000) <= 1


@pytest.mark.parametrize(
    "bug, says",
    [
        (lambda x, comm: x * (comm.rank != 2), "element"),  # a rank forgets its contribution
        (lambda x, comm: x.astype("float16").astype("float32"), "element"),  # sent in half precision
        (lambda x, comm: np.roll(x, comm.rank == 1), "element"),  # off by one on one rank
        (lambda x, comm: x * np.float32(1 + 1e-5), "element"),  # a scale that is slightly off
        (lambda x, comm: np.where(np.arange(len(x)) == 7, np.nan, x), r"1 of 64 .* \(7,\)"),
    ],
)
def test_bugs_are_told_from_rounding(bug, says):
    table = np.random.default_rng(2).standard_normal((5, 64)).astype("float32")

    def program(comm, mistake):
        x = table[comm.rank]
        return allreduce(comm, (bug(x, comm) if mistake else x.copy()).astype("float32"), algorithm="ring")

    serial, magnitude = np.sum(table, axis=0), np.abs(table).sum(axis=0, dtype=float)
    for result in launch(program, 5, False).results:
        assert difference(result, serial, magnitude, "float32", 4, 4) is None
    message = difference(launch(program, 5, True).results[0], serial, magnitude, "float32", 4, 4)
    assert re.search(says, message) and "allowed" in message


def test_what_is_expected_may_itself_be_rounded():
    """float64: the exact sum of these lies between two numbers, and math.fsum gives the farther one."""
    x = [2.0**-53, 1.0, 2.0**-53, 2.0**-53]
    assert difference(((x[0] + x[1]) + x[2]) + x[3], math.fsum(x), sum(x), "float64", 3) is None


def test_no_numbers_and_infinities_are_equal_to_their_like_only():
    for value in (np.nan, np.inf, -np.inf):
        assert difference([value], [value], [np.inf], "float32", 3) is None
        assert difference([5.0], [value], [np.inf], "float32", 3) is not None


def test_large_integers_are_compared_exactly_and_complex_numbers_refused():
    assert difference([2**60], [2**60 + 1], 1, "int64", 5) is not None
    with pytest.raises(TypeError, match="complex64"):
        difference([1 + 2j], [1 + 5j], 1, "complex64", 5)


def test_shapes_must_agree_and_max_and_integers_are_exact():
    assert "shape (2,)" in difference(np.ones(2), np.ones(3), 1.0, "float32", 1)
    assert difference(np.array([3]), np.array([4]), 7, "int64", 5) is not None

    def program(comm):
        return allreduce(comm, np.array([comm.rank / 3], "float32"), op=mpi.MAX, algorithm="ring")

    assert launch(program, 4).results[0] == np.float32(1)
