"""One door to MPI: reference.mpi alone imports mpi4py, and everybody else imports MPI's names from there."""

import ast
import json
from pathlib import Path

import pytest

from .files import FILES, ROOT


def sources(path: Path) -> str:
    """Return the Python in a file; of a notebook, its code cells without magics and shell lines."""
    if path.suffix == ".py":
        return path.read_text()
    cells = [cell for cell in json.loads(path.read_text())["cells"] if cell["cell_type"] == "code"]
    lines = "\n".join("".join(cell["source"]) for cell in cells).splitlines()
    return "\n".join("pass" if line.lstrip().startswith(("%", "!")) else line for line in lines)


def imports_mpi4py(source: str) -> bool:
    """Tell whether a source imports mpi4py, in whatever form an import statement or importlib takes."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import) and any(name.name.split(".")[0] == "mpi4py" for name in node.names):
            return True
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "mpi4py" and not node.level:
            return True
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            called = ast.unparse(node.func)
            name = str(node.args[0].value).split(".")[0]
            if called.endswith(("import_module", "__import__", "importorskip")) and name == "mpi4py":
                return True
    return False


def test_only_the_door_imports_mpi4py():
    python = [path for path in FILES if path.suffix in (".py", ".ipynb")]
    offenders = [str(path.relative_to(ROOT)) for path in python if imports_mpi4py(sources(path))]
    assert offenders == ["reference/mpi/start.py"], "import MPI's names from reference.mpi"


@pytest.mark.parametrize(
    "source, found",
    [
        ("import mpi4py", True),
        ("def f():\n    from mpi4py import MPI", True),
        ("import numpy, mpi4py.MPI as M", True),
        ("import importlib\nimportlib.import_module('mpi4py.MPI')", True),
        ("from reference import mpi", False),
        ("from .mpi4py import x", False),
        ("'import mpi4py'", False),
    ],
)
def test_the_door_check_itself(source, found):
    assert imports_mpi4py(source) is found
