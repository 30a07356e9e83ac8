"""What is known of a student's file without running it, and how results travel."""

import numpy as np
import pytest

from exercises.grading import Case, Distributed, student, sums
from exercises.grading.grade import WRONG, grade
from exercises.grading.mutants import mutants
from exercises.grading.plain import Other, decode, encode

STUBS = [
    "raise NotImplementedError",
    "raise NotImplementedError('later')",
    '"""What it does."""\n    raise NotImplementedError()',
    "pass",
    "...",
]


def source(tmp_path, text):
    path = tmp_path / "ch99_things.py"
    path.write_text(text)
    return student.read(path)


@pytest.mark.parametrize("body", STUBS)
def test_a_stub_is_to_do(tmp_path, body):
    assert source(tmp_path, f"def f(x):\n    {body}\n").state("f") == student.TO_DO


@pytest.mark.parametrize(
    "text, state",
    [
        ("def f(x):\n    return x\n", student.BEGUN),
        ("def f(x):\n    y = x\n    raise NotImplementedError\n", student.BEGUN),
        ("def f(x):\n    pass\n    return x\n", student.BEGUN),
        ('def f(x):\n    """Doubles."""\n    raise NotImplementedError\n    return x\n', student.TO_DO),
        ("f = abs\n", student.BEGUN),
        ("from math import sqrt as f\n", student.BEGUN),
        ("def f(x):\n    raise NotImplementedError\n\n\ndef f(x):\n    return x\n", student.BEGUN),
        ("def g(x):\n    return x\n", student.MISSING),
        ("while True:\n    pass\n", student.MISSING),
    ],
)
def test_states_are_read_and_not_run(tmp_path, text, state):
    assert source(tmp_path, text).state("f") == state


@pytest.mark.parametrize(
    "text, line",
    [
        ("from reference.collectives import ring\n", 1),
        ("import numpy\nimport reference.collectives.ring as r\n", 2),
        ("from reference import collectives\n", 1),
        ("from .solutions import ch01_collectives\n", 1),
        ("def f():\n    from exercises.solutions.ch01_collectives import g\n", 2),
        ("import reference.mpi\ndef f(comm, x):\n    return reference.collectives.ring_allreduce(comm, x)\n", 3),
    ],
)
def test_the_book_s_answer_is_not_borrowed(tmp_path, text, line):
    assert source(tmp_path, text).borrowed()[0] == line


def test_the_door_to_mpi_is_open(tmp_path):
    assert source(tmp_path, "from reference import mpi\nimport reference.mpi\nimport numpy as np\n").borrowed() is None
    assert source(tmp_path, "import reference.mpi\nx = reference.mpi.waitall\n").borrowed() is None
    assert source(tmp_path, "def f(reference):\n    return reference.shape\n").borrowed() is None


@pytest.mark.parametrize(
    "text, seen",
    [
        ("def f(x:\n    return x\n", "line 1"),
        ("def f(x):\nreturn x\n", "line 2: expected an indented block"),
        ("x = 1\0\n", "null bytes"),
        ("def g(x):\n    return x\n", "no function f"),
    ],
)
def test_a_file_that_cannot_be_graded_is_explained(tmp_path, text, seen):
    exercise = Distributed(cases=lambda rng: [Case("", ((),))], checks=[], hints=[])
    verdict = grade(exercise, "f", source(tmp_path, text).path, seed=0)
    assert verdict.state == WRONG
    assert seen in verdict.finding.seen


@pytest.mark.parametrize(
    "value",
    [None, True, 3, 2.5, "text", b"bytes", (1, (2.0, "x")), [1, [2]], {"a": (1,)}, np.float64(2.5), np.int32(7)],
)
def test_plain_values_come_back(value):
    assert decode(encode(value)) == value


@pytest.mark.parametrize("array", [np.arange(6.0).reshape(2, 3), np.zeros(0), np.arange(4, dtype=np.float32)[::2]])
def test_arrays_come_back(array):
    back = decode(encode(array))
    assert back.dtype == array.dtype
    assert np.array_equal(back, array)


def test_what_is_not_plain_comes_back_as_what_it_was():
    back = decode(encode(abs))
    assert isinstance(back, Other) and type(back).__name__ == back.type == "builtin_function_or_method"
    assert repr(back) == "<built-in function abs>"
    assert decode(encode(np.array([abs]))).type == "ndarray"


@pytest.mark.parametrize(
    "weights, text",
    [
        ([[1, 0], [1, 0]], "x[0] + x[1], in block 0"),
        ([[0, 2], [0, -1]], "2 x[0] - x[1], in block 1"),
        ([[1, 0], [0, 0.5]], "block 0 of x[0] + 0.5 block 1 of x[1]"),
    ],
)
def test_a_mixture_is_recognised_and_told(weights, text):
    rng = np.random.default_rng(1)
    pieces = [list(rng.standard_normal((2, 9))) for _ in range(2)]
    got = sum(weights[k][i] * pieces[k][i] for k in range(2) for i in range(2))
    assert sums.formula(sums.recipe(got, pieces)) == text


def test_no_recipe_for_noise_or_for_too_few_elements():
    rng = np.random.default_rng(1)
    pieces = [list(rng.standard_normal((2, 9))) for _ in range(2)]
    assert sums.recipe(np.full(9, 5e-310), pieces) is None  # as memory may look that was never written
    assert sums.recipe(rng.standard_normal(9), pieces) is None
    assert sums.recipe(np.full(9, np.nan), pieces) is None
    assert sums.recipe(pieces[0][0][:4], [[piece[:4] for piece in mine] for mine in pieces]) is None


def test_mutants_are_the_small_mistakes_one_would_plant_by_hand():
    text = "def f(comm, x):\n    for s in range(len(x) - 1):\n        x[s] += x[s + 1]\n    return x.copy()\n"
    names = {name for name, _ in mutants(text, "f")}
    assert names >= {
        "for s in range(len(x) - 1):  ->  for s in range(len(x) - 0):",
        "for s in range(len(x) - 1):  ->  for s in range(len(x) + 1):",
        "for s in range(len(x) - 1):  ->  pass",
        "x[s] += x[s + 1]  ->  x[s] = x[s + 1]",
        "x[s] += x[s + 1]  ->  x[s] -= x[s + 1]",
        "return x.copy()  ->  return x",
    }
