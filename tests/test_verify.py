"""The comparison behind every "verified": whatever is planted in it is found, on either side, and named."""

import math
import tracemalloc

import numpy as np
import pytest
import torch

from reference.verify import Comparison, compare

nan, inf = math.nan, math.inf
LARGE = 2**53  # from here on float64 does not know every whole number

shortly = "{!r:.30}".format  # names of cases

BAD = {"nan": nan, "inf": inf, "-inf": -inf}
HOLDERS = {
    "number": lambda x: x,
    "list": lambda x: [0.5, x],
    "tuple": lambda x: (x, 0.5),
    "nested": lambda x: [[0.5], [0.25, x]],
    "deeper": lambda x: [[[0.5, [x]]]],
    "array": lambda x: np.array([[0.5, x]]),
    "strided": lambda x: np.array([[0.5, x], [x, 0.5]]).T[::-1, :1],
    "list of arrays": lambda x: [np.ones(3), np.array([0.5, x])],
    "complex": lambda x: complex(0.5, x),
    "longdouble": lambda x: np.array([x], np.longdouble),
    "float16": lambda x: np.array([0.5, x], np.float16),
    "float32 tensor": lambda x: torch.tensor([0.5, x]),
    "bfloat16 tensor": lambda x: torch.tensor([0.5, x], dtype=torch.bfloat16),
    "trained tensor": lambda x: torch.tensor([0.5, x], requires_grad=True),
    "list of tensors": lambda x: [torch.ones(2), torch.tensor(x, requires_grad=True)],
    "conjugate tensor": lambda x: torch.tensor([complex(0.5, x)]).conj(),
    "far back": lambda x: np.append(np.zeros(200_000), x),
}


@pytest.mark.parametrize("planted", BAD)
@pytest.mark.parametrize("holder", HOLDERS)
def test_what_is_not_finite_is_never_verified(holder, planted):
    hold, bad = HOLDERS[holder], BAD[planted]
    good, spoilt = hold(0.125), hold(bad)
    assert compare(good, good) and compare(good, hold(0.125), within=1e-3)
    for got, expected in ((spoilt, good), (good, spoilt), (spoilt, spoilt)):
        found = compare(got, expected, within=1e3, floor=1.0)
        assert not found and found.error == inf and ("nan" in found.why or "inf" in found.why)
        assert ("the expected" in found.why) == (expected is spoilt)


@pytest.mark.parametrize(
    "got, expected, why",
    [
        pytest.param([], [], "nothing to compare", id="empty lists"),
        pytest.param(np.zeros((2, 0)), np.zeros((2, 0)), "nothing to compare", id="empty arrays"),
        pytest.param(torch.zeros(0), torch.zeros(0), "nothing to compare", id="empty tensors"),
        pytest.param([np.ones(2), np.ones(0)], [np.ones(2), np.ones(0)], "item 1: there is nothing", id="one empty"),
        pytest.param([[], [1.0]], [[], [1.0]], "item 0: there is nothing", id="one empty list"),
        pytest.param([], [1.0], "shape (0,) where shape (1,)", id="empty for one"),
        pytest.param([1.0], [], "shape (1,) where shape (0,)", id="one for empty"),
        pytest.param(1.0, np.ones(3), "a single number where shape (3,)", id="would be broadcast"),
        pytest.param([1.0], 1.0, "shape (1,) where a single number", id="list for a number"),
        pytest.param(np.ones(3), np.ones((3, 1)), "shape (3,) where shape (3, 1)", id="column"),
        pytest.param([[1.0], [2.0, 3.0]], [[1.0], [2.0]], "item 1: shape (2,) where shape (1,)", id="ragged"),
        pytest.param([[1.0], [2.0]], [[1.0]], "a list of 2 where a list of 1 was", id="an item more"),
        pytest.param([np.ones(2)], np.ones((2, 2)), "a list of 1 where shape (2, 2)", id="a row less"),
        pytest.param([np.ones(2)], 1.0, "a list of 1 where one float", id="list of arrays for a number"),
        pytest.param(1, 1.0, "type int64 where float64", id="int for float"),
        pytest.param(True, 1, "type bool where int64", id="bool for int"),
        pytest.param([True, 2.0], [1.0, 2.0], "item 0: elements of type bool", id="bool in floats"),
        pytest.param(1 + 0j, 1.0, "type complex128 where float64", id="complex for float"),
        pytest.param(np.float32(1), 1.0, "type float32 where float64", id="float32 for float64"),
        pytest.param(
            torch.ones(2, dtype=torch.bfloat16), torch.ones(2), "type bfloat16 where float32", id="bfloat16 for float32"
        ),
        pytest.param([torch.tensor(1.0)], [1.0], "item 0: elements of type float32 where float64", id="tensor in list"),
        pytest.param("a", "a", "str is not a type of number", id="strings"),
        pytest.param(["a"], ["a"], "str is not a type of number", id="strings in lists"),
        pytest.param(np.array(["a"]), np.array(["a"]), "type <U1 are not numbers", id="array of strings"),
        pytest.param(None, None, "NoneType is not a type of number", id="None"),
        pytest.param({"a": 1}, {"a": 1}, "dict is not a type of number", id="dictionaries"),
        pytest.param(iter([1]), [1], "list_iterator is not a type of number", id="iterator"),
        pytest.param(np.array([1.5], object), np.array([1.5], object), "type object are not numbers", id="objects"),
        pytest.param(np.ma.masked_array([1.0, 2.0], [0, 1]), np.array([1.0, 2.0]), "masked elements: 1", id="masked"),
        pytest.param(np.array([1.0]), np.ma.masked_array([1.0], [1]), "expected: masked", id="masked and expected"),
    ],
)
def test_what_cannot_be_compared_is_not_verified(got, expected, why):
    found = compare(got, expected, within=1e3, floor=1.0)
    assert not found and found.error == inf and why in found.why


@pytest.mark.parametrize(
    "value",
    [
        3,
        10**400,
        0.5,
        1 + 2j,
        True,
        [1, True],
        [-1, 2**63],
        range(1, 4),
        np.bool(True),
        np.ma.masked_array([1.0, 2.0], [0, 0]),
        np.array([2**70], object),
        [[1, 2], [3.0]],
        (np.ones(2), [torch.ones(()), torch.ones(1, 2, requires_grad=True)]),
        torch.arange(3, dtype=torch.uint8),
    ],
    ids=shortly,
)
def test_equal_is_equal(value):
    assert compare(value, value) == Comparison(0.0)


def test_a_list_of_rows_is_an_array():
    assert compare([[1.0, 2.0], [3.0, 4.0]], np.array([[1.0, 2.0], [3.0, 4.0]])) == Comparison(0.0)
    assert compare([1.0, 2.0], (np.float64(1), 2.0)) and compare(0.0, -0.0)


@pytest.mark.parametrize(
    "got, expected, error",
    [
        (1.5, 1.0, 0.5),
        ([1.0, 3.0, 2.0], [1.0, 2.0, 1.5], 0.5),
        (1e308, -1e308, inf),
        (LARGE + 1, LARGE, 1 / LARGE),
        (10**400, 5, inf),
        (5, 10**400, 1.0),
        (10**400 + 10**399, 10**400, 0.1),
        ([2**63 + 2**62, -1], [2**63, -1], 0.5),
        (np.int64(-(2**63)), np.int64(2**63 - 1), 2.0),
        (np.uint64(0), np.uint64(2**64 - 1), 1.0),
        (np.uint8(3), np.uint8(5), 0.4),
        (False, True, 1.0),
        (1 + 1j, 1 - 1j, 2**0.5),
        (torch.tensor([1.5]), torch.tensor([1.0]), 0.5),
        ([np.ones(2), np.full(2, 4.0)], [np.ones(2), np.full(2, 2.0)], 1.0),
        (np.longdouble(1) + np.finfo(np.longdouble).eps, np.longdouble(1), float(np.finfo(np.longdouble).eps)),
    ],
    ids=shortly,
)
def test_the_error_is_the_largest_relative_one_and_is_named(got, expected, error):
    found = compare(got, expected)
    assert found.error == pytest.approx(error, rel=1e-12) and "was expected: they must be equal" in found.why
    if error < inf:
        assert compare(got, expected, within=error * 1.001)
        allowed = compare(got, expected, within=error * 0.999)
        assert not allowed and f"off by {error:.1e}" in allowed.why


@pytest.mark.parametrize("got, fine", [(0.0, True), (1e-4, True), (0.9e-3, True), (1.1e-3, False), (-1.1e-3, False)])
def test_near_an_expected_0_the_floor_decides(got, fine):
    assert bool(compare(got, 0.0, within=1e-3, floor=1.0)) == fine
    assert bool(compare(got, 0.0, within=1e-3)) == (got == 0)  # without a floor only 0 will do


@pytest.mark.parametrize("tiny", [5e-324, 1e-300])
def test_a_difference_does_not_vanish_in_the_division(tiny):
    assert not compare(tiny, 0.0, floor=1e300) and compare(tiny, 0.0, within=1e-9, floor=1e300)


@pytest.mark.parametrize(
    "got, expected, why",
    [
        ([1.0, 2.0, 4.0], [1.0, 2.0, 3.0], "element 2 of 3 is 4.0 where 3.0 was expected"),
        (2, 3, "value is 2 where 3 was"),
        (np.zeros((2, 2)), np.array([[0, 0], [1e-3, 5.0]]), "element 2 of 4 is 0.0 where 0.001 was"),
        ([[1, 2], [3, 5]], [[1, 2], [3, 4]], "item 1: element 1 of 2 is 5 where 4 was"),
        (10**400, 7, "an int of 1,329 bits where 7 was"),
        (np.append(np.zeros(10**5), 1.0), np.append(np.zeros(10**5), 2.0), "element 100,000 of 100,001 is 1.0"),
    ],
    ids=shortly,
)
def test_the_worst_element_is_named(got, expected, why):
    assert why in compare(got, expected).why


@pytest.mark.parametrize("wrong", [-1e-9, nan, inf])
@pytest.mark.parametrize("name", ["within", "floor"])
def test_what_is_allowed_is_a_finite_number(name, wrong):
    with pytest.raises(ValueError, match=r"within and floor are finite and at least 0, got .*(nan|inf|-1e-09)"):
        compare(1.0, 1.0, **{name: wrong})


@pytest.mark.parametrize("off", [0.0, 1e-6])
def test_a_large_array_is_not_copied(off):
    x = np.ones(2**21, np.float32)
    y = x + np.float32(off)
    tracemalloc.start()
    found = compare(x, y, within=1e-3)
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert found and most < x.nbytes
