"""Tests that pass on every machine: limits that know the machine's pace, and machines that are played."""

import ast
import os
import re
import subprocess
import sys

import psutil
import pytest

from .files import ROOT


@pytest.fixture
def machines(ci):
    """The module .ci/machines.py."""
    return ci("machines")


def said(code, **environment):
    """What a line of Python prints under some settings."""
    done = subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, check=True, cwd=ROOT
    )
    return done.stdout.strip()


PRODUCT = (
    "import torch; a = torch.randn(65, 65, generator=torch.Generator().manual_seed(0)); b = a @ a;"
    "print(float(b.double().sum()), bool(torch.allclose(b, a.double().mm(a.double()).float(), atol=1e-4)))"
)


def test_another_order_rounds_otherwise_and_is_as_right(machines):
    """A control of the machine that .ci/run plays: were its sums the same, it would show nothing."""
    ours, right = said(PRODUCT, PYTHONPATH="").split()
    theirs, also_right = said(PRODUCT, **machines.MACHINES["another order"].settings).split()
    assert ours != theirs and right == also_right == "True"


def test_settings_reach_the_libraries(machines):
    """The machine without AVX, where it can be played: torch says what it was told, and NumPy does without."""
    machine = machines.MACHINES["no AVX"]
    if why := machines.lacking(machine):
        pytest.skip(why)
    environment = machines.environment(machine.settings)
    said_by_torch = said("import torch; print(torch.backends.cpu.get_cpu_capability())", **environment)
    assert said_by_torch in ("DEFAULT", "NO AVX")
    found = said(machines.FEATURES, **environment).split()
    assert "X86_V2" in found and "X86_V3" not in found


SHOW = "[sys.executable, '-c', 'import os; print(dict(os.environ))', {}]"
AS_NOTEBOOKS_AND_AS_TESTS = f"""
import sys; sys.path.insert(0, ".ci"); import test
elsewhere = test.settings_of("unlike")
test.run("notebooks", {SHOW.format("'--nbval'")}, elsewhere), test.run("tests", {SHOW.format("'tests'")}, elsewhere)
"""


def test_ci_runs_the_notebooks_and_they_alone_on_the_machine_that_is_least_like_its_own(machines):
    """What .ci/run types reaches .ci/test.py, and the settings reach what runs notebooks."""
    (typed,) = re.findall(r"make test (.+)", (ROOT / ".ci/run").read_text())
    does = subprocess.run(["make", "-n", "test", typed], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert ".ci/test.py --notebooks-on 'unlike'" in does
    there, here = (ast.literal_eval(line) for line in said(AS_NOTEBOOKS_AND_AS_TESTS).splitlines() if "{" in line)
    asked = machines.environment(machines.chosen(["unlike"])["unlike"].settings)
    changed = {name: value for name, value in asked.items() if value and os.environ.get(name) != value}
    assert changed and all(there[name].startswith(value) for name, value in changed.items())
    assert not any(here.get(name, "").startswith(value) for name, value in changed.items())


@pytest.mark.parametrize("name, why", [("busy", "of other settings only"), ("abacus", "there is no machine 'abacus'")])
def test_notebooks_are_run_on_machines_of_other_settings_only(name, why):
    command = [sys.executable, ".ci/test.py", "--notebooks-on", name]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode and why in done.stderr and not done.stdout


def test_what_cannot_be_played_is_named(machines):
    assert machines.lacking(machines.Machine(needs="ABACUS")).endswith("has no ABACUS")
    assert machines.lacking(machines.Machine(python="python3.99")) == "no python3.99 here"
    if hasattr(os, "sched_getaffinity"):
        assert machines.lacking(machines.Machine(cores=10_000)).startswith("10000 cores wanted")
    with pytest.raises(SystemExit, match="there is no machine 'abacus'; there are: an old laptop, "):
        machines.chosen(["abacus"])


def test_together_every_machine_is_played(machines):
    """But for Python 3.11, which is what the tests run on mostly, and what this machine cannot play."""
    ways = {way for several in machines.TOGETHER.values() for way in several}
    assert ways == set(machines.MACHINES) - {"Python 3.11"}
    laptop = machines.together(("1 thread", "another order", "busy", "another folder"))
    assert laptop.settings["OMP_NUM_THREADS"] == "1" and "another_order" in laptop.settings["PYTHONPATH"]
    assert (laptop.busy, laptop.clone, laptop.cores, laptop.python) == (2, True, 0, "")
    played = machines.all_at_once()
    assert any(name.startswith("an old laptop") for name in played)


def test_a_single_setting_is_a_machine(machines):
    assert machines.chosen(["A=B=C"]) == {"A=B=C": machines.Machine({"A": "B=C"})}


def test_busy_loops_end_with_what_they_were_for(machines):
    with machines.loops(2):
        assert len(endless()) == 2
    assert not endless()


def endless():
    """The processes that this one has started and that compute without end."""
    return [each for each in psutil.Process().children() if "while True: pass" in each.cmdline()]


@pytest.mark.parametrize("own, seen", [(None, "1"), ("3", "3")])
def test_processes_beside_each_other_have_one_thread_each(ci, capfd, monkeypatch, own, seen):
    """Threads of two of them that wait for two cores made one test take 4.4 s in place of 0.2."""
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    if own:
        monkeypatch.setenv("OMP_NUM_THREADS", own)
    command = [sys.executable, "-c", "import os; print('threads', os.environ['OMP_NUM_THREADS'])"]
    assert ci("test").run("a part", command, {})[0] and f"threads {seen}\n" in capfd.readouterr().out
