"""Makes `pytest exercises/` a grader: it collects what the test_ files declare, grades it, and shows a report."""

from __future__ import annotations

import importlib.util
import os
import secrets
import sys
from pathlib import Path

import pytest
from _pytest.runner import runtestprotocol

from exercises.grading import Exercise, real
from exercises.grading.grade import SOLVED, TO_DO, WRONG, Verdict, grade
from exercises.grading.report import Chapter, Report, Steps

FOLDER = Path(__file__).parent
ON_WORKERS = "exercises_seed"  # what is told to the processes of pytest-xdist (-n 2)
NEEDED = "numpy mpi4py cloudpickle".split()
REMEMBERED, HINTED = "exercises/solved", "exercises/hints"  # in pytest's cache
REPORT, SEED, PASSED_OVER = pytest.StashKey[Report](), pytest.StashKey[int](), pytest.StashKey[list]()
LADDERS, CAME = pytest.StashKey[dict](), pytest.StashKey[list]()  # hints by exercise; what came from other processes


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
    config.stash[SEED] = _seed(config)
    config.stash[LADDERS], config.stash[CAME], config.stash[PASSED_OVER] = {}, [], []
    if config.option.verbose == 0 and _only_exercises(config):
        config.option.verbose = -1  # without pytest's header: a student has asked for a grade, not for a platform


def _seed(config) -> int:
    """That of the command, or one drawn by chance; the same in all processes of a session."""
    seed = config.getoption("seed", None)
    if seed is None:
        return getattr(config, "workerinput", {}).get(ON_WORKERS, secrets.randbelow(100_000))
    if seed < 0:
        raise pytest.UsageError(f"--seed is a whole number from 0 on, not {seed}")
    return seed


def pytest_sessionstart(session):
    config = session.config
    if not _is_worker(config) and _only_exercises(config) and not config.option.collectonly:
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
        if self.config.pluginmanager.hasplugin("timeout"):
            self.add_marker(pytest.mark.timeout(0))  # a grade has limits of its own, which follow the machine's pace

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
    if not isinstance(item, ExerciseItem) or _is_worker(item.config):
        return None
    report = _report(item.config)
    if report.chapter != item.chapter:
        report.open(item.chapter)
    runtestprotocol(item, nextitem=nextitem)
    if item.verdict is not None:
        item.config.stash[LADDERS][item.name] = item.exercise.hints
        report.add(item.verdict)
    if getattr(nextitem, "chapter", None) != item.chapter:
        report.close()
    return True


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item, call):
    result = yield
    verdict = getattr(item, "verdict", None) if call.when == "call" else None
    if verdict is not None:  # as plain data: with -n it goes to another process
        place = item.session.items.index(item)
        result.verdict = {"place": place, "hints": list(item.exercise.hints), **verdict.plain()}
    return result


def pytest_report_teststatus(report):
    return (report.verdict["state"], "", "") if hasattr(report, "verdict") else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node):
    """Of pytest-xdist: a process that will grade some of the exercises is about to start."""
    node.workerinput[ON_WORKERS] = node.config.stash[SEED]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node):
    """Of pytest-xdist: such a process has come to its end."""
    node.config.stash[PASSED_OVER][:] = getattr(node, "workeroutput", {}).get("passed_over", [])


@pytest.hookimpl(wrapper=True)
def pytest_runtest_logreport(report):
    yield
    if hasattr(report, "node") and hasattr(report, "verdict"):  # from a process of pytest-xdist
        report.node.config.stash[CAME].append(report.verdict)


def _gather(config) -> None:
    """Write the lines of all chapters from what other processes have graded, in whatever order."""
    report = _report(config)
    for came in sorted(config.stash[CAME], key=lambda came: came["place"]):
        ladder, verdict = came["hints"], Verdict.of({k: v for k, v in came.items() if k not in ("place", "hints")})
        if report.chapter != Chapter(verdict.source.path):
            if report.chapter:
                report.close()
            report.open(Chapter(verdict.source.path))
        config.stash[LADDERS][verdict.name] = ladder
        report.add(verdict)
    if config.stash[CAME]:
        report.close()


def pytest_unconfigure():
    real.close()


@pytest.hookimpl(tryfirst=True)  # before pytest-xdist sends what is known here
def pytest_sessionfinish(session):
    config = session.config
    if _is_worker(config):
        config.workeroutput["passed_over"] = config.stash[PASSED_OVER]
        return
    _gather(config)
    verdicts = [verdict for _, verdict in _report(config).verdicts]
    if session.exitstatus == pytest.ExitCode.OK and any(verdict.state != SOLVED for verdict in verdicts):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def pytest_deselected(items):
    """Remember the exercises that -k passed over."""
    names = [item.name for item in items if isinstance(item, ExerciseItem)]
    if names:
        items[0].config.stash[PASSED_OVER].extend(names)


@pytest.hookimpl(tryfirst=True)  # other plugins may import a lot for theirs
def pytest_terminal_summary(terminalreporter, config):
    report, passed_over = _report(config), config.stash[PASSED_OVER]
    if not report.verdicts:
        if passed_over:
            report.nothing(config.option.keyword, passed_over)
        return
    solved = [verdict.name for _, verdict in report.verdicts if verdict.state == SOLVED]
    hints = _steps(config, report) if config.getoption("hints", False) else {}
    new = _news(config, solved, alone=len(report.verdicts) == 1)
    report.finish(hints, new, seed=config.stash[SEED], others=bool(passed_over))


def _terminal(config):
    return config.pluginmanager.getplugin("terminalreporter")


def _is_worker(config) -> bool:
    """Whether this is a process of pytest-xdist, which grades some of the exercises and shows nothing."""
    return hasattr(config, "workerinput")


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


def _steps(config, report: Report) -> dict[str, Steps]:
    """What --hints shows of the first exercise that is wrong, or else to do: one step more than the last time."""
    unsolved = [verdict.name for state in (WRONG, TO_DO) for _, verdict in report.verdicts if verdict.state == state]
    cache = getattr(config, "cache", None)
    for name in unsolved[:1]:
        ladder, shown = config.stash[LADDERS][name], cache.get(HINTED, {}) if cache else {}
        number = shown.get(name, 0) + 1 if cache else len(ladder)
        if cache:
            cache.set(HINTED, {**shown, name: number})
        return {name: Steps(ladder[:number], len(ladder))}
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
