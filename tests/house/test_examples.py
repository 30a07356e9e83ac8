"""How many examples a property tries is decided in one place: few in `make test`, many in `make test-long`."""

import ast
import os
import subprocess
import sys

import pytest
from hypothesis import settings

from tests.examples import FEW, MANY, examples

from .files import FILES, ROOT

DECIDED = {"deadline", "derandomize", "max_examples"}
PLACE = ROOT / "tests/examples.py"


def set_by_hand(source: str) -> set[str]:
    """What a test gives to hypothesis' settings, by whatever name it calls them, that the profiles decide."""
    tree = ast.parse(source)
    names = {"settings"} | {
        name.asname
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for name in node.names
        if name.name == "settings" and name.asname
    }
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    ours = [call for call in calls if names & set(ast.unparse(call.func).split("."))]
    return {word.arg for call in ours for word in call.keywords} & DECIDED


def test_no_property_decides_how_many_examples_it_tries_or_how_long_one_may_take():
    paths = [path for path in FILES if path.suffix == ".py" and ROOT / "tests" in path.parents and path != PLACE]
    found = {path.name: what for path in paths if (what := set_by_hand(path.read_text()))}
    assert not found, "take @settings away, or @examples(few) of tests/examples.py, if they are costly"


@pytest.mark.parametrize(
    "source, found",
    [
        ("@settings(max_examples=6)\ndef test(): pass", {"max_examples"}),
        ("few = hypothesis.settings(deadline=None, max_examples=6)", {"deadline", "max_examples"}),
        ("from hypothesis import settings as s\n@s(derandomize=True)\ndef test(): pass", {"derandomize"}),
        ("settings.register_profile('mine', max_examples=6)", {"max_examples"}),
        ("theorem = settings(suppress_health_check=list(HealthCheck))", set()),
        ("message(deadline=3)", set()),
    ],
)
def test_what_is_set_by_hand_is_found(source, found):
    assert set_by_hand(source) == found


def test_few_are_tried_here():
    assert settings().max_examples == FEW and settings().deadline is None
    assert examples(6).max_examples == 6 and examples(0).max_examples == 1


COUNTED = """
from hypothesis import given, settings, strategies as st
from tests.examples import examples

tried = []

@given(st.integers())
def test_plain(n):
    tried.append("plain")

@examples(6)
@given(st.integers())
def test_costly(n):
    tried.append("costly")

def test_how_many():
    print(tried.count("plain"), tried.count("costly"), settings().deadline, settings().derandomize)
"""


def test_many_are_tried_in_the_long_run(ci, tmp_path):
    (tmp_path / "conftest.py").write_text("from tests.examples import register\n\nregister()\n")
    (tmp_path / "test_counted.py").write_text(COUNTED)
    parts = ci("test").test_parts(ci("chapters").everything(), long=True)
    assert parts.keys() == {"unit", "graders"}
    (command,) = parts["unit"].values()
    chosen = [word for word in command if str(word).startswith("--hypothesis")]
    assert command[command.index("-m", 3) + 1] == "hypothesis or long"
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-s", "-q", *chosen],
        cwd=tmp_path,
        env=os.environ | {"PYTHONPATH": str(ROOT), "CI": "true"},
        capture_output=True,
        text=True,
    )
    assert f"{MANY} {6 * MANY // FEW} None False" in done.stdout, done.stdout + done.stderr


def test_what_takes_long_is_left_to_the_long_run(ci, tmp_path):
    for typed, mark in (("exercises", "long"), ("9", "long and chapter(number=9)")):
        (command,) = ci("test").test_parts(ci("chapters").part(typed), long=True)["graders"].values()
        assert command[command.index("-m", 3) + 1] == mark
    assert "graders" not in ci("test").test_parts(ci("chapters").part("worlds"), long=True)
    listing = [sys.executable, "-m", "pytest", "-q", "--collect-only", "tests/exercises/test_proven.py"]
    for more, some in ([], False), (["-m", "not mpi"], False), (["-m", "long"], True):
        listed = subprocess.run([*listing, *more], cwd=ROOT, capture_output=True, text=True).stdout
        assert ("::" in listed) == some, listed
