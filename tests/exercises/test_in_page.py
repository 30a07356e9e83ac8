"""What a page says of an answer is what pytest says: the same verdict and hint, on the same inputs, without NumPy."""

import json
import re
import shutil
import subprocess
import sys
import zipfile

import pytest
from hypothesis import given
from hypothesis.strategies import floats, just, one_of, sampled_from

from exercises.grading import numbers, student, wrong
from exercises.grading.grade import tried
from exercises.grading.in_page import MOST_STEPS, graded, hint, why
from exercises.grading.page import GRADED, HINT, SEED, WHY, predicted, question, quiz
from reference.verify import compare

from .test_graders import ALL, EXERCISES, FOLDER, PATIENT, solutions

ROOT = FOLDER.parent
CHAPTER = {name: chapter for chapter, name, _ in ALL if name in predicted(chapter)}

sys.path.append(str(ROOT / "book/_ext"))


def answers(name: str) -> dict[str, str]:
    """Files with a wrong answer each: what people give, and what the checks know to be wrong, as a table of results."""
    found = wrong.texts(CHAPTER[name], name)
    asked = question(CHAPTER[name], name).given
    inputs = {arguments: eval(arguments) for _, arguments in asked["cases"]}
    for check in EXERCISES[name].checks:
        for number, (mistake, _) in enumerate(getattr(check, "known", ())):
            table = {arguments: mistake(*given) for arguments, given in inputs.items()}
            parameters, whole = asked["parameters"], f"({asked['parameters']}{',' * bool(asked['parameters'])})"
            head = f"from math import inf, nan\nTABLE = {table!r}"
            found[f"known_{len(found)}_{number}"] = f"{head}\ndef {name}({parameters}):\n return TABLE[repr({whole})]"
    return found


@pytest.mark.parametrize("name", CHAPTER)
def test_a_page_says_what_pytest_says(name, tmp_path):
    asked, texts = question(CHAPTER[name], name).given, answers(name)
    for which, text in texts.items():
        (tmp_path / f"{which}.py").write_text(text)
    paths = [tmp_path / f"{which}.py" for which in texts]
    told = tried(EXERCISES[name], name, paths, SEED, PATIENT)
    assert paths
    for path in paths:
        here, there = graded(**asked, code=path.read_text()), told[path].finding
        assert (here["seen"], here["hint"]) == there, path.name
    for path in solutions(CHAPTER[name]):
        assert graded(**asked, code=path.read_text()) == {"solved": True}


def asked(name: str, **answer) -> dict:
    return graded(**question(CHAPTER[name], name).given, **answer)


def test_a_formula_lines_and_a_whole_function_are_answers():
    formula = "2 * (P - 1) * (alpha + n / P * beta)"
    for code in (
        formula,
        f"  ({formula}\n  )",
        f"return {formula}",
        f"k = {formula}\nreturn k",
        f"def ring_time(P, n, alpha, beta):\n    return {formula}",
    ):
        assert asked("ring_time", code=code) == {"solved": True}
    assert asked("ring_time", code="k = 1")["seen"] == "it returned None."


def test_where_pytest_names_an_input_so_does_the_page():
    told = asked("ring_time", code="2 * (P - 1) * (alpha + n / P * beta) if n < 1e9 else 0")
    assert told["case"] == "On P = 8, n = 350_000_000_000, alpha = 0, beta = 10e-12 (3 other inputs were fine):"


@pytest.mark.parametrize(
    "code, seen, hint",
    [
        ("2 * (P - 1", "Python cannot read line", "a bracket that is not closed"),
        ("P / 0", "ZeroDivisionError: division by zero", "Read the message from its end"),
        ("q * P", "NameError: name 'q' is not defined", "Read the message from its end"),
        ("while True: pass", "it went on computing without end.", "An endless loop?"),
        ("10 ** 400", "no check can tell", "Compare with the text"),
        ("import nothing_like_it\nreturn 1", "ModuleNotFoundError", "Read the message"),
    ],
)
def test_what_is_no_answer_gets_a_hint_too(code, seen, hint, monkeypatch):
    assert MOST_STEPS >= 1_000_000
    monkeypatch.setattr("exercises.grading.in_page.MOST_STEPS", 10_000)
    told = asked("ring_time", code=code)
    assert seen in told["seen"] and hint in told["hint"] and not told["solved"]


def test_choices_are_graded():
    assert asked("seven_seconds", chosen="BCD") == {"solved": True}
    assert "5 of the 6 statements are judged rightly" in asked("seven_seconds", chosen="BC")["seen"]
    assert "no name for A" in asked("which_rate", chosen={})["seen"]


@pytest.mark.parametrize("name", CHAPTER)
def test_hints_and_the_why_are_those_of_pytest(name):
    hints = EXERCISES[name].hints
    assert [hint(CHAPTER[name], name, step + 1) for step in range(len(hints))] == [
        {"text": text, "of": len(hints)} for text in hints
    ]
    assert why(CHAPTER[name], name) == student.read(FOLDER / f"solutions/{CHAPTER[name]}.py").docstring(name) != ""


def test_every_exercise_of_level_1_is_on_one_of_the_pages():
    pages = [
        json.loads(path.read_text(encoding="utf-8")) for path in sorted((ROOT / "chapters").glob("predict*.ipynb"))
    ]
    cells = [cell for page in pages for cell in page["cells"] if cell["cell_type"] == "code"]
    shown = "".join("".join(cell["source"]) for cell in cells)
    for chapter in {chapter for chapter, _, _ in ALL}:
        assert shown.count(f'quiz("{chapter}")') == 1
        names = [name for each, name, _ in ALL if each == chapter]
        assert [each.name for each in quiz(chapter).questions] == names[: len(predicted(chapter))]


def test_no_answer_is_in_the_page():
    for chapter in sorted(set(CHAPTER.values())):
        html = quiz(chapter)._repr_html_()
        for name in predicted(chapter):
            check = EXERCISES[name].checks[0]
            hints = [*EXERCISES[name].hints, *(hint for _, hint in getattr(check, "known", ()))]
            assert not [hint for hint in [*hints, why(chapter, name)] if hint in html]
            assert json.dumps(getattr(check, "right", "no choice"), separators=(",", ":")) not in html


@given(floats(), one_of(just(1.0), floats(-1e-8, 1e-8).map(lambda off: 1 + off)), sampled_from([numbers.Close, 1e-2]))
def test_numbers_are_near_as_compare_says_it(want, ratio, within):
    for got, other in ((want * ratio, want), (want, 1.0), (ratio, want), (want, 0.0)):
        assert numbers._near(got, other, within) == bool(compare(got, other, within))


WITHOUT_NUMPY = """
import json, sys
class Refusing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "torch", "mpi4py", "_posixsubprocess", "resource", "fcntl", "termios"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Refusing)
sys.path[:0] = [sys.argv[1]]
from reference.pages.live import answer
for question in json.load(sys.stdin):
    print(answer(json.dumps(question)))
"""


def test_what_a_page_gets_grades_without_numpy(tmp_path):
    from live import pack

    pack(tmp_path / "packages.zip")
    shutil.unpack_archive(tmp_path / "packages.zip", tmp_path / "packages")  # as the page does
    questions = [
        {"call": GRADED, "given": question(chapter, name).given | {"code": "None"}} for name, chapter in CHAPTER.items()
    ]
    about = [question(chapter, name).about for name, chapter in CHAPTER.items()]
    questions += [{"call": HINT, "given": {**each, "step": 1}} for each in about]
    questions += [{"call": WHY, "given": each} for each in about]
    run = subprocess.run(
        [sys.executable, "-I", "-S", "-c", WITHOUT_NUMPY, str(tmp_path / "packages")],
        input=json.dumps(questions),
        capture_output=True,
        text=True,
    )
    assert run.returncode == 0, run.stderr
    told = [json.loads(line)["value"] for line in run.stdout.splitlines()]
    told, hints, whys = told[: len(about)], told[len(about) : -len(about)], told[-len(about) :]
    assert len(told) == len(CHAPTER) and all("None" in each["seen"] or "none" in each["seen"] for each in told)
    assert hints == [hint(**each, step=1) for each in about] and whys == [why(**each) for each in about]


def test_no_solution_is_in_what_a_page_gets(tmp_path):
    from live import docstrings, pack

    pack(tmp_path / "packages.zip")
    with zipfile.ZipFile(tmp_path / "packages.zip") as packed:
        inside = {name: packed.read(name).decode() for name in packed.namelist() if "/solutions/" in name}
    assert set(inside) == {f"exercises/solutions/{chapter}.py" for chapter, _, _ in ALL}
    assert not [name for name, text in inside.items() if "return" in re.sub(r"'.*'|\".*\"", "", text)]
    assert docstrings('def f(x):\n    """Why."""\n    return x\n') == "def f():\n    'Why.'\n"
