"""Makes `pytest exercises/` a grader: it collects what the test_ files declare, grades it, and shows a report."""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from exercises.grading import Exercise
from exercises.grading.grade import SOLVED, TO_DO, WRONG, Verdict, grade
from exercises.grading.report import Chapter, Report, Steps

FOLDER = Path(__file__).parent
NEEDED = "numpy mpi4py cloudpickle".split()
REMEMBERED, HINTED = "exercises/solved", "exercises/hints"  # in pytest's cache
REPORT, SEED, PASSED_OVER = pytest.StashKey[Report](), pytest.StashKey[int](), pytest.StashKey[list]()


def pytest_addoption(parser):
    group = parser.getgroup("exercises", "Every Rank Counts")
    group.addoption("--hints", action="store_true", help="one more step of the ladder of hints with every call")
    group.addoption("--mpi", action="store_true", help="grade distributed exercises again on real MPI ranks")
    group.addoption("--seed", type=int, help="draw the inputs of an earlier run again")


def pytest_configure(config):
    if not hasattr(os, "fork"):
        raise pytest.UsageError("Grading needs Linux, macOS, or Windows with WSL.")
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise pytest.UsageError(
            f"{sys.executable} lacks {', '.join(missing)}. Set the course up with `make`, then activate its "
            "environment: source .venv/bin/activate"
        )
    config.args[:] = map(_grader, config.args)
    seed = config.getoption("seed", None)
    config.stash[SEED] = secrets.randbelow(100_000) if seed is None else seed
    if config.option.verbose == 0 and _only_exercises(config):
        config.option.verbose = -1  # without pytest's header: a student has asked for a grade, not for a platform


def pytest_sessionstart(session):
    config = session.config
    if _only_exercises(config) and not config.option.collectonly:
        also = ", also on real MPI ranks" if config.getoption("mpi", False) else ""
        _terminal(config).write(f"Every Rank Counts: exercises{also}\n\n", bold=True, flush=True)


def pytest_pycollect_makeitem(collector, name, obj):
    """What a grader declares with Exercise(...) is an item with the name of the student's function."""
    return ExerciseItem.from_parent(collector, name=name, exercise=obj) if isinstance(obj, Exercise) else None


class NotYet(Exception):
    """Makes pytest count a verdict as failed."""


class ExerciseItem(pytest.Item):
    """One exercise."""

    def __init__(self, *, exercise: Exercise, **kwargs):
        super().__init__(**kwargs)
        self.exercise, self.verdict = exercise, None
        self.chapter = Chapter(self.path.with_name(self.path.name.removeprefix("test_")))

    def runtest(self):
        also_mpi = self.exercise.distributed and self.config.getoption("mpi", False)
        for world in ["virtual", "mpi"] if also_mpi else ["virtual"]:
            self.verdict = None  # an error in the grader itself leaves no verdict
            self.verdict = grade(self.exercise, self.name, self.chapter.path, self.config.stash[SEED], world)
            if self.verdict.state != SOLVED:
                break
        if self.verdict.state == TO_DO:
            pytest.skip(TO_DO)
        if self.verdict.state != SOLVED:
            raise NotYet

    def repr_failure(self, excinfo):
        if not isinstance(excinfo.value, NotYet):
            return super().repr_failure(excinfo)
        return "\n".join([self.verdict.case, *self.verdict.finding])

    def reportinfo(self):
        return self.chapter.path, None, self.name


def pytest_runtest_protocol(item, nextitem):
    """Run an exercise under its chapter's line, in place of pytest's file names and dots."""
    if not isinstance(item, ExerciseItem):
        return None
    report = _report(item.config)
    if report.chapter != item.chapter:
        report.open(item.chapter)
    runtestprotocol(item, nextitem=nextitem)
    if item.verdict is not None:
        report.add(item.verdict)
    if getattr(nextitem, "chapter", None) != item.chapter:
        report.close()
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    result.verdict = getattr(item, "verdict", None) if call.when == "call" else None
    return result


def pytest_report_teststatus(report):
    verdict: Verdict | None = getattr(report, "verdict", None)
    return (verdict.state, "", "") if verdict is not None else None


def pytest_sessionfinish(session):
    verdicts = [verdict for _, verdict in _report(session.config).verdicts]
    if session.exitstatus == pytest.ExitCode.OK and any(verdict.state != SOLVED for verdict in verdicts):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_deselected(items):
    """Remember the exercises that -k passed over."""
    names = [item.name for item in items if isinstance(item, ExerciseItem)]
    if names:
        items[0].config.stash.setdefault(PASSED_OVER, []).extend(names)


@pytest.hookimpl(tryfirst=True)  # other plugins may import a lot for theirs
def pytest_terminal_summary(terminalreporter, config):
    report, passed_over = _report(config), config.stash.get(PASSED_OVER, [])
    if not report.verdicts:
        if passed_over:
            report.nothing(config.option.keyword, passed_over)
        return
    items = [item for item in terminalreporter._session.items if isinstance(item, ExerciseItem)]
    solved = [verdict.name for _, verdict in report.verdicts if verdict.state == SOLVED]
    hints = _steps(config, items) if config.getoption("hints", False) else {}
    new = _news(config, solved, alone=len(items) == 1)
    report.finish(hints, new, seed=config.stash[SEED], others=bool(passed_over))


def _terminal(config):
    return config.pluginmanager.getplugin("terminalreporter")


def _report(config) -> Report:
    """The report of this session, made when first asked for: pytest may find this file late."""
    if REPORT not in config.stash:
        start, verbose = config.invocation_params.dir, config.option.verbose > 0
        config.stash[REPORT] = Report(_terminal(config), start, FOLDER, verbose)
    return config.stash[REPORT]


def _news(config, solved: list[str], alone: bool) -> list[str]:
    """The exercises solved for the first time, or the only one that was asked for; pytest's cache remembers."""
    cache = getattr(config, "cache", None)
    if cache is None:
        return solved
    before = cache.get(REMEMBERED, [])
    cache.set(REMEMBERED, sorted({*before, *solved}))
    return solved if alone else [name for name in solved if name not in before]


def _steps(config, items) -> dict[str, Steps]:
    """What --hints shows of the first exercise that is wrong, or else to do: one step more than the last time."""
    unsolved = [item for state in (WRONG, TO_DO) for item in items if item.verdict and item.verdict.state == state]
    cache = getattr(config, "cache", None)
    for item in unsolved[:1]:
        ladder, shown = item.exercise.hints, cache.get(HINTED, {}) if cache else {}
        number = shown.get(item.name, 0) + 1 if cache else len(ladder)
        if cache:
            cache.set(HINTED, {**shown, item.name: number})
        return {item.name: Steps(ladder[:number], len(ladder))}
    return {}


def _grader(arg: str) -> str:
    """A student who names the file they write in means its grader."""
    path, *name = arg.split("::")
    grader = Path(path).parent / f"test_{Path(path).name}"
    return "::".join([str(grader), *name]) if (FOLDER / grader.name).exists() else arg


def _only_exercises(config) -> bool:
    """Whether nothing else was asked for."""
    paths = [config.invocation_params.dir / arg.split("::")[0] for arg in config.args]
    return all(path.resolve().is_relative_to(FOLDER) for path in paths)
