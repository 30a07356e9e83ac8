"""What is no answer passes no check: NaN, infinity, empty lists, other shapes and types of element are planted."""

import copy
import math
from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from exercises.grading import Answer, Case, Exercise, checks, choices, copies, sums
from exercises.grading.grade import SOLVED, WRONG, _play, draw, grade
from exercises.grading.plain import Other, decode, encode
from exercises.grading.play import answer as received
from exercises.grading.sandbox import Limits

from .test_graders import ALL, SEED, solutions

X = [np.arange(4.0) + 1 + 10 * rank for rank in range(2)]
RANKS = Case("", tuple((x,) for x in X))
ALONE = Case("", ((4.0,),))
NAMES = {"A": "ring", "B": "tree"}
READY_MADE = {  # check: (case, right results)
    "arrays": (checks.arrays(lambda case, rank: (4,)), RANKS, X),
    "same_bits": (checks.same_bits, RANKS, [X[0], X[0]]),
    "number": (checks.Number(lambda x: 2 * x, [(lambda x: math.inf, "inf")], ""), ALONE, [8.0]),
    "copies": (copies.copies(lambda case, rank: [copies.Piece(1 - rank)], "{rank}", [], ""), RANKS, X[::-1]),
    "no copies": (copies.copies(lambda case, rank: [], "{rank}", [], ""), RANKS, [np.zeros(0)] * 2),
    "sum": (sums.sum_over_ranks(sums.in_one_piece, whole=True), RANKS, [X[0] + X[1]] * 2),
    "sum of a block": (
        sums.sum_over_ranks(lambda x, case: np.array_split(x, case.ranks)),
        RANKS,
        np.split(X[0] + X[1], 2),
    ),
    "sum of all blocks": (
        sums.sum_over_ranks(lambda x, case: np.array_split(x, case.ranks), whole=True),
        RANKS,
        [X[0] + X[1]] * 2,
    ),
    "statements": (choices.Statements("AC", "ABC", dict.fromkeys("ABC", "why")), ALONE, ["AC"]),
    "situations": (
        choices.Situations(NAMES, ["ring", "tree"], {}, dict.fromkeys(["ring", "tree"], "why")),
        ALONE,
        [NAMES],
    ),
}
INSTEAD = {  # of all that a rank returned
    "NaN": math.nan,
    "infinity": math.inf,
    "an empty list": [],
    "an empty array": np.zeros(0),
    "None": None,
    "a list of NaN": [math.nan] * 4,
    "an array of NaN": np.full(4, math.nan),
    "a dictionary of arrays": {"A": np.full(2, math.nan), "B": []},
    "text": "NaN",
}


def in_arrays(array):
    """(what, another array): the same but for an element, its shape, or its type."""
    if array.size and array.dtype.kind == "f":
        for what, bad in (("NaN", math.nan), ("infinity", math.inf), ("minus infinity", -math.inf)):
            changed = array.copy()
            changed.flat[-1] = bad
            yield f"{what} as the last element", changed
        yield "nothing but NaN", np.full_like(array, math.nan)
    yield "another shape", array[None]
    yield "a type", Other("type", "<class 'object'>")
    yield "None", None
    yield "a list", array.tolist() or 0
    yield "one element more", np.append(array, array[-1:] if array.size else 0.0)
    yield "another type", array.astype(np.float32 if array.dtype == np.float64 else np.complex128)


def planted(value):
    """(what, value with something planted) for the first and the last place of what one rank returned."""
    if isinstance(value, np.ndarray):
        yield from in_arrays(value)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield from (("NaN", math.nan), ("infinity", math.inf), ("minus infinity", -math.inf))
    elif isinstance(value, dict):
        for key in list(value)[:1]:
            yield from ((f"{what} for {key}", {**value, key: bad}) for what, bad in planted(value[key]))
    elif isinstance(value, list | tuple):
        for place in {0, len(value) - 1} if value else ():
            for what, bad in planted(value[place]):
                yield f"{what} at {place}", type(value)([*value[:place], bad, *value[place + 1 :]])


def plants(results):
    """(what, results) with something planted in what the last rank returned."""
    *others, last = results
    for what, bad in [*(INSTEAD.items() if last is not None else ()), *planted(last)]:
        yield what, [*others, bad]


@pytest.mark.parametrize("name", READY_MADE)
def test_a_ready_made_check_finds_what_is_planted(name):
    check, case, results = READY_MADE[name]
    rest = ([*map(list, case.arguments)], [False] * case.ranks)
    assert check(case, Answer(results, *rest)) is None
    passed = {what for what, bad in plants(results) if check(case, Answer(bad, *rest)) is None}
    fine = {"copies": {"another shape"}, "no copies": {"another shape", "an empty array"}}  # pieces may lie in rows
    assert passed == fine.get(name, set())


@pytest.mark.parametrize("chapter, name, exercise", ALL, ids=[name for _, name, _ in ALL])
def test_no_grader_accepts_what_is_planted(chapter, name, exercise):
    cases = draw(exercise, name, SEED)
    case = next((each for each in cases if each.ranks > 1), cases[0])
    own = copy.deepcopy(case)  # a student may write into it, here in this process
    played = _play(exercise, name, str(solutions(chapter)[0]), own, "virtual", Limits())
    right = received(played, case, exercise.distributed, "virtual")

    def finds(what, bad):
        other = copy.deepcopy(replace(right, **{what: bad}))
        return any(check(case, other) is not None for check in exercise.checks)

    assert not finds("results", right.results)
    if all(result is None for result in right.results) and case.ranks > 1:  # its result stands in its first argument
        *others, (mine, *more) = right.arguments
        passed = {what for what, bad in planted(mine) if not finds("arguments", [*others, (bad, *more)])}
        assert passed <= {"another shape"}  # it is the caller's array, whose elements count
    else:
        assert [what for what, bad in plants(right.results) if not finds("results", bad)] == []


def test_arguments_that_were_emptied_or_reshaped_are_not_kept():
    def kept(after):
        return checks.kept("arrays")(Case("", ((before,),)), Answer([None], [(after,)], [False]))

    before = [np.zeros(2), np.ones(2)]
    assert kept(before) is None
    for after in ([], before[:1], None, [np.zeros(2), np.ones((1, 2))], [np.zeros(2), np.ones(2, np.float32)]):
        assert kept(after) is not None
    assert kept([np.zeros(2), np.array([1, math.nan])]) is not None


def test_infinity_is_no_number_even_where_it_is_expected():
    check = checks.Number(lambda x: math.inf, [], "no")
    assert check(ALONE, Answer([math.inf], [(4.0,)], [False])) is not None


def test_a_time_of_nan_is_late():
    check = checks.no_later_than(lambda case: 1.0, "", "")
    assert check(RANKS, Answer([], [], [], seconds=math.nan)) is not None


def test_zeros_of_both_signs_differ_in_their_bits():
    found = checks.same_bits(RANKS, Answer([np.array([1.0, 0.0]), np.array([1.0, -0.0])], [], []))
    assert found.seen == "ranks 0 and 1 differ in element 1: 0.0 and -0.0."


@pytest.mark.parametrize(
    "value, number",
    [(Fraction(1, 2), 0.5), (Fraction(6, 3), 2), (Decimal("0.25"), 0.25), (Decimal("4.00"), 4), (np.float32(0.5), 0.5)]
    + [
        (np.int64(7), 7),
        (np.array(3), 3),
        (np.array(2.5, np.float32), 2.5),
        (np.bool_(True), True),
        (2**1000, 2**1000),
    ],
)
def test_numbers_of_every_type_come_back_as_numbers(value, number):
    back = decode(encode(value))
    assert back == number and type(back) is type(number)


class Odd(int):
    """A student's own kind of number."""


@pytest.mark.parametrize("value, number", [(Odd(3), 3), (Decimal("nan"), math.nan), (Decimal("inf"), math.inf)])
def test_numbers_of_other_types_come_back_as_plain_ones(value, number):
    back = decode(encode([value]))[0]
    assert type(back) is type(number) and (back == number or math.isnan(number))


@pytest.mark.parametrize("value", [2**5000, 10**400, Fraction(10**400), Decimal("1e400")])
def test_numbers_that_are_too_large_are_told_as_what_they_are(value):
    assert type(decode(encode(value))).__name__ == type(value).__name__ or decode(encode(value)) == math.inf


def test_a_fraction_is_as_good_as_a_float(tmp_path):
    path = tmp_path / "answer.py"
    path.write_text("from fractions import Fraction\n\n\ndef answer(x):\n    return Fraction(1, 4) * x\n")
    exercise = Exercise(lambda rng: [Case("x = 3", ((3,),))], [checks.Number(lambda x: x / 4, [], "no")], [])
    assert grade(exercise, "answer", path, seed=0).state == SOLVED
    path.write_text("def answer(x):\n    return object\n")
    verdict = grade(exercise, "answer", path, seed=0)
    assert verdict.state == WRONG and "a type: <class 'object'>" in verdict.finding.seen


def test_tuples_and_arrays_are_lists_where_a_list_is_asked_for():
    assert checks.listed(((4, 3), [np.int64(2)], np.array([1, 0]))) == [[4, 3], [2], [1, 0]]
    assert checks.listed(np.eye(2)) == [[1.0, 0.0], [0.0, 1.0]]
    assert checks.listed({3}) == {3} and checks.listed("ab") == "ab" and checks.listed(None) is None
