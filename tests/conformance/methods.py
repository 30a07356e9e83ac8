"""Run one method of mpi4py's tests on the ranks of a launch.

Each rank executes the test's module by itself, as a process would: ranks of the virtual cluster share Python's modules,
and these tests keep their communicators in classes. So `import` is replaced inside of them.
"""

from __future__ import annotations

import builtins
import importlib
import traceback
import unittest
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from reference.mpi import start
from tests.conformance.names import names


@cache
def compiled(path: Path) -> CodeType:
    return compile(path.read_text(), str(path), "exec")


class Loader:
    """The modules of mpi4py's tests, as one rank has them."""

    def __init__(self, folder: str, comm: Any):
        self.folder, self.modules = Path(folder), {}
        package = ModuleType("mpi4py")
        package.MPI, package.__version__, package.rc = names(comm), "4.1.2", start.mpi4py.rc
        package.__path__ = []
        self.modules |= {"mpi4py": package, "mpi4py.MPI": package.MPI}
        finder = ModuleType("importlib")
        finder.import_module = self.module
        self.modules["importlib"] = finder

    def module(self, name: str) -> ModuleType:
        """A module of the tests, executed at its first import; any other one is Python's."""
        if name not in self.modules:
            path = self.folder / f"{name}.py"
            if not path.is_file():
                return importlib.import_module(name)
            module = self.modules[name] = ModuleType(name)
            module.__file__ = str(path)
            module.__builtins__ = {**vars(builtins), "__import__": self.imported}
            exec(compiled(path), vars(module))
        return self.modules[name]

    def imported(self, name, globals=None, locals=None, fromlist=(), level=0):
        """In the place of __import__."""
        if name in self.modules or (self.folder / f"{name}.py").is_file():
            return self.module(name)
        if name.startswith("mpi4py."):
            raise ImportError(name)
        return builtins.__import__(name, globals, locals, fromlist, level)


def methods(comm: Any, folder: str, file: str) -> list[str]:
    """The "Class.method"s of a file."""
    module = Loader(folder, comm).module(file)
    cases = [case for case in vars(module).values() if isinstance(case, type) and issubclass(case, unittest.TestCase)]
    loader = unittest.TestLoader()
    return sorted(f"{case.__name__}.{name}" for case in set(cases) for name in loader.getTestCaseNames(case))


def run_methods(comm: Any, folder: str, file: str, methods: list[str]) -> list[tuple[str, str]]:
    """Run them on this rank, one after the other: each ("passed" | "skipped" | "refused" | "failed", why)."""
    module, told = Loader(folder, comm).module(file), []
    for method in methods:
        case, name = method.split(".")
        result = Result()
        getattr(module, case)(name).run(result)
        told.append(result.told())
        comm.Barrier()
    return told


class Result(unittest.TestResult):
    """What became of one method."""

    def __init__(self):
        super().__init__()
        self.lines: list[tuple[str, str]] = []

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self._note(err)

    def addError(self, test, err):
        self._note(err)

    def addFailure(self, test, err):
        self._note(err)

    def addSkip(self, test, reason):
        self.lines.append(("skipped", reason))

    def _note(self, err) -> None:
        error = err[1]
        while error is not None and not isinstance(error, NotImplementedError):
            error = error.__context__
        if error is not None:
            self.lines.append(("refused", str(error)))
        else:
            self.lines.append(("failed", "".join(traceback.format_exception(*err)[-3:])))

    def told(self) -> tuple[str, str]:
        """The worst of it."""
        for kind in ("failed", "refused", "skipped"):
            for line in self.lines:
                if line[0] == kind:
                    return line
        return "passed", ""
