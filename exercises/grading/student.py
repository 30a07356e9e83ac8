"""What a student's file says, read from its syntax tree. Nothing in it is run, so this is quick and cannot hang."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

TO_DO, BEGUN, MISSING = "to do", "begun", "missing"
ANSWERS = ("reference", "exercises")  # packages that hold answers ...
OPEN = ("reference.mpi",)  # ... except these
LONGEST = 1 << 20  # bytes of a file


@dataclass(frozen=True)
class Source:
    """A student's file: its syntax tree, or the (line, text, message) that kept Python from reading it."""

    path: Path
    tree: ast.Module
    trouble: tuple[int, str, str] | None = None

    def function(self, name: str) -> ast.FunctionDef | None:
        """The top-level function `name`; the last one counts, as for Python."""
        found = [node for node in self.tree.body if isinstance(node, ast.FunctionDef) and node.name == name]
        return found[-1] if found else None

    def state(self, name: str) -> str:
        """TO_DO if the body is still a stub, MISSING if nothing in the file is called `name`, else BEGUN."""
        function = self.function(name)
        if function is not None:
            return TO_DO if _never_runs(function.body) else BEGUN
        return BEGUN if name in _assigned(self.tree) else MISSING

    def given(self, name: str) -> bool:
        """Whether code waits to be repaired or completed below the function's `raise NotImplementedError`."""
        function = self.function(name)
        return function is not None and not all(map(_is_stub, function.body)) and self.state(name) == TO_DO

    def begun(self) -> bool:
        """Whether any function of the file has more than a stub."""
        return any(self.state(node.name) == BEGUN for node in self.tree.body if isinstance(node, ast.FunctionDef))

    def line(self, name: str) -> int:
        """The line where the function starts, 1 if there is none."""
        function = self.function(name)
        return function.lineno if function else 1

    def level(self, name: str) -> str:
        """The level of an exercise: "write" under the heading "# Level 3: write ---"."""
        above = self.path.read_text().splitlines()[: self.line(name)]
        return next(line.split(":")[1].strip(" -") for line in reversed(above) if line.startswith("# Level "))

    def docstring(self, name: str) -> str:
        """The docstring of the function, or ""."""
        function = self.function(name)
        return (ast.get_docstring(function) or "") if function else ""

    @functools.cached_property
    def imported(self) -> list[tuple[int, str]]:
        """The (line, module) of everything that is imported, wherever it is."""
        return [(node.lineno, module) for node in _statements(self.tree) for module in _imports(node)]

    def borrowed(self) -> tuple[int, str] | None:
        """The (line, module) of what brings in the course's own answer, if there is such an import or name."""
        for line, module in [*self.imported, *self._reached()]:
            if module.split(".")[0] in ANSWERS and not module.startswith(OPEN):
                return line, module
        return None

    def _reached(self) -> Iterator[tuple[int, str]]:
        """The (line, dotted name) of what is reached through a package: `import reference.mpi` binds `reference`."""
        imports = [node for node in _statements(self.tree) if isinstance(node, ast.Import)]
        names = [alias.name for node in imports for alias in node.names if not alias.asname]
        if not any(name.split(".")[0] in ANSWERS for name in names):
            return
        for node in ast.walk(self.tree):
            if isinstance(node, ast.Attribute):
                yield node.lineno, _dotted(node)

    def imports(self, package: str) -> bool:
        """Whether the file imports `package` or a module of it."""
        return any(module.split(".")[0] == package for _, module in self.imported)


def read(path: Path) -> Source:
    """Read a file that may not exist or not be Python; `trouble` tells."""
    nothing = ast.Module(body=[], type_ignores=[])
    try:
        with path.open("rb") as file:
            text = file.read(LONGEST + 1)
        if len(text) > LONGEST:
            raise ValueError(f"it has more than {LONGEST:,} bytes, and no answers need as many")
        return Source(path, ast.parse(text, str(path)))
    except SyntaxError as error:
        return Source(path, nothing, (error.lineno or 1, (error.text or "").strip(), error.msg))
    except (OSError, ValueError, RecursionError, MemoryError) as error:
        return Source(path, nothing, (1, "", str(error)))


def _dotted(node: ast.expr) -> str:
    """`a.b.c` of names and attributes, "" of anything else."""
    if isinstance(node, ast.Attribute):
        value = _dotted(node.value)
        return f"{value}.{node.attr}" if value else ""
    return node.id if isinstance(node, ast.Name) else ""


def _is_stub(node: ast.stmt) -> bool:
    """A docstring, `pass`, `...` or `raise NotImplementedError`."""
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return isinstance(node, ast.Pass) or constant or _gives_up(node)


def _gives_up(node: ast.stmt) -> bool:
    """`raise NotImplementedError`."""
    if not isinstance(node, ast.Raise):
        return False
    raised = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
    return isinstance(raised, ast.Name) and raised.id == "NotImplementedError"


def _never_runs(body: list[ast.stmt]) -> bool:
    """Whether a body holds stubs only, or gives up before anything else: code to repair may stand below."""
    doing = next((node for node in body if _gives_up(node) or not _is_stub(node)), None)
    return doing is None or _gives_up(doing)


def _assigned(tree: ast.Module) -> set[str]:
    """Names that the file binds at its top level in other ways than by `def`."""
    names = set()
    for node in tree.body:
        if isinstance(node, ast.Import | ast.ImportFrom):
            names |= {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.Assign):
            names |= {target.id for target in node.targets if isinstance(target, ast.Name)}
    return names


def _statements(tree: ast.Module) -> Iterator[ast.AST]:
    """All statements, and not what is inside them: `ast.walk` takes ten times as long, and a class has many files."""
    left: list[ast.AST] = [tree]
    while left:
        node = left.pop()
        yield node
        inside = [getattr(node, field, None) for field in ("finalbody", "orelse", "cases", "handlers", "body")]
        left += [each for several in inside if isinstance(several, list) for each in reversed(several)]


def _imports(node: ast.AST) -> list[str]:
    """Dotted names that an import statement brings in: `from reference import mpi` gives reference.mpi."""
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom):
        return [f"{'exercises.' * bool(node.level)}{node.module or ''}.{alias.name}" for alias in node.names]
    return []
