"""Right answers are right in other containers and types of number: results of solutions are turned into them."""

import pytest

from exercises.grading import kinds, play
from exercises.grading.grade import tried

from .test_graders import ALL, PATIENT, SEED, solutions

pytestmark = pytest.mark.long


@pytest.mark.parametrize("chapter, name, exercise", ALL, ids=[name for _, name, _ in ALL])
def test_a_right_answer_of_another_kind_is_accepted(chapter, name, exercise, tmp_path):
    play.warm_up("torch")  # as for a file that imports it: a child should not wait for it
    paths = {}
    for number, (kind, text) in enumerate(kinds.changed(solutions(chapter)[0].read_text(), name)):
        paths[tmp_path / f"{number}.py"] = kind
        (tmp_path / f"{number}.py").write_text(text)
    found = tried(exercise, name, list(paths), SEED, PATIENT)
    assert {paths[path]: each.finding for path, each in found.items() if each.finding} == {}


def test_kinds_change_what_they_say():
    def results(kind, value):
        return kinds.of_kind(kind)(lambda: value)()

    assert results("tuples", [[1], {"a": [2]}]) == ((1,), {"a": (2,)})
    assert type(results("NumPy's numbers", 2)).__name__ == "int64"
    assert results("arrays of shape ()", 0.5).shape == ()
    assert results("arrays for lists of numbers", [1, 2]).tolist() == [1, 2]
