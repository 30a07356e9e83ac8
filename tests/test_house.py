"""The house itself: one door to MPI, floors, names and commands in step, licences, nothing of one machine."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from reference.perf.pace import pace

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MADE = {".git", ".venv", ".openmpi", "build", "_build", "__pycache__", ".ipynb_checkpoints", "node_modules"}
CONDA_NAME = {"torch": "pytorch-cpu", "matplotlib": "matplotlib-base"}  # where conda's differs from PyPI's
CONDA_ONLY = {"python", "pip", "jupyterlab"}  # jupyterlab is Binder's


def text_files() -> list[Path]:
    """Return what git tracks or would track; without git, everything that is not made by make."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    git = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True)
    names = git.stdout.split("\0") if git.returncode == 0 and git.stdout else map(str, ROOT.rglob("*"))
    paths = [ROOT / name for name in names if name]
    return [path for path in paths if path.is_file() and not MADE & set(path.relative_to(ROOT).parts)]


FILES = text_files()


# ------------------------------------------------------------------------------------------------ one door, floors


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
    assert offenders == ["reference/mpi.py"], "import MPI's names from reference.mpi"


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


def test_import_floors():
    tool = Path(sys.executable).parent / "lint-imports"
    run = subprocess.run([str(tool), "--no-logo", "--no-cache"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout + run.stderr


def test_every_package_is_on_a_floor_once():
    (floors,) = (c for c in PROJECT["tool"]["importlinter"]["contracts"] if c["id"] == "floors")
    named = re.findall(r"\w+", " ".join(floors["layers"]))
    assert len(named) == len(set(named))
    here = {
        path.stem for path in (ROOT / "reference").iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert here - {"__init__"} <= set(named)


# ------------------------------------------------------------------------------------------------ names in step


def name_of(requirement: str) -> str:
    """Return the normalised name in a requirement of pip or conda."""
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-")


def requirements() -> list[str]:
    """Return every requirement of pyproject.toml, of the package and of its extras."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    return PROJECT["project"]["dependencies"] + [requirement for extra in extras for requirement in extra]


def project_names() -> set[str]:
    return {name_of(requirement) for requirement in requirements()}


def test_environment_has_the_names_of_pyproject():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = [d for d in dependencies if isinstance(d, str)]
    (pip,) = (d["pip"] for d in dependencies if isinstance(d, dict))
    names = {name_of(d) for d in conda} | {name_of(d) for d in pip if not d.startswith("-e")}
    assert names - CONDA_ONLY == {CONDA_NAME.get(name, name) for name in project_names()}
    assert "-e ." in pip


def test_environment_has_the_bounds_of_pyproject():
    bound = {}
    for requirement in requirements():
        name = name_of(requirement)
        bound[CONDA_NAME.get(name, name)] = requirement[len(name) :].strip()
    for line in (
        d for d in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"] if isinstance(d, str)
    ):
        if name_of(line) not in CONDA_ONLY:
            assert line[len(name_of(line)) :].strip() == bound[name_of(line)], line


def test_constraints_pin_every_name_exactly():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    pinned = {name_of(line): line for line in lines}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+( ?;.*)?", line) for line in lines), "name==version, no address, no path"
    assert project_names() <= set(pinned)
    assert len(pinned) == len(lines)


# ------------------------------------------------------------------------------------------------ commands in step


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_readme_commands_exist():
    readme = (
        (ROOT / "README.md").read_text()
        + (ROOT / "CONTRIBUTING.md").read_text()
        + (ROOT / "book/how_to_use.md").read_text()
    )
    commands = re.findall(r"^make (\w+)|[`$] ?make (\w+)", readme, re.MULTILINE)
    named = {first or second for first, second in commands}
    assert {"book", "test"} <= named <= make_targets()


def test_ci_runs_the_commands_of_the_readme():
    ci = (ROOT / ".ci/run").read_text()
    block = re.search(r"## Two commands.*?```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    commands = [" ".join(line.split("#")[0].split()) for line in block.splitlines()]
    assert commands == ["make book", "make test"]
    assert all(command in ci for command in commands)
    assert "bash .ci/run" in (ROOT / ".github/workflows/tests.yml").read_text()
    assert "make book" in (ROOT / ".github/workflows/book.yml").read_text()


def test_every_machine_is_played_every_night(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / ".ci")
    from machines import MACHINES, SINGLE

    nightly = yaml.safe_load((ROOT / ".github/workflows/machines.yml").read_text())
    job = nightly["jobs"]["machine"]
    assert set(job["strategy"]["matrix"]["machine"]) == set(MACHINES | SINGLE)
    assert nightly[True]["schedule"], "YAML reads the key `on` as True"
    assert any("make test-machines" in step.get("run", "") for step in job["steps"])
    assert re.search(r"machines.py --only notebooks unlike", (ROOT / ".ci/run").read_text())


def test_every_file_that_readme_links_to_is_there():
    for page in ("README.md", "CONTRIBUTING.md", "LICENSE-text.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert (ROOT / link).exists(), f"{page} links to {link}"


# ------------------------------------------------------------------------------------------------ book and chapters


def toc_files(part) -> list[str]:
    """Return every page that a table of contents names."""
    if isinstance(part, list):
        return [name for item in part for name in toc_files(item)]
    own = [part[key] for key in ("root", "file") if key in part]
    return own + [name for key in ("parts", "chapters", "sections") for name in toc_files(part.get(key, []))]


def test_table_of_contents_is_complete():
    listed = toc_files(yaml.safe_load((ROOT / "book/_toc.yml").read_text()))
    pages = [p for folder in ("book", "chapters") for p in (ROOT / folder).rglob("*") if p.suffix in (".md", ".ipynb")]
    pages = [p for p in pages if not MADE & set(p.relative_to(ROOT).parts)]
    assert sorted(listed) == sorted(p.relative_to(ROOT).with_suffix("").as_posix() for p in pages)


def test_every_module_has_its_place_in_the_api_pages():
    pages = "\n".join(path.read_text() for path in (ROOT / "book/api").glob("*.md"))
    modules = [path.relative_to(ROOT).with_suffix("") for path in (ROOT / "reference").rglob("*.py")]
    names = [".".join(path.parts).removesuffix(".__init__") for path in modules if path.parts[1:] != ("__init__",)]
    missing = [name for name in names if not re.search(rf"auto(module|function|class):: {name}\b", pages)]
    assert set(missing) <= {"reference.worlds.launch"}, f"add to book/api/: {missing}"  # that one is a function, too


def test_notebooks_are_small_and_have_been_run():
    for path in (ROOT / "chapters").glob("*.ipynb"):
        assert path.stat().st_size <= 1_000_000, f"{path.name}: at most 1 MB"
        for cell in json.loads(path.read_text())["cells"]:
            if cell["cell_type"] == "code" and "".join(cell["source"]).strip():
                assert cell["execution_count"] is not None, f"{path.name} has a cell that was not run: make notebooks"


VARIES = {"timings", "which processors this machine has", "the order in which real messages arrive"}


def test_outputs_that_are_not_compared_vary_by_nature():
    """Never because of rounding: what depends on the processor is printed as what holds on each of them."""
    for path in (ROOT / "chapters").glob("*.ipynb"):
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            if "nbval-ignore-output" in cell["metadata"].get("tags", []):
                why = cell["metadata"].get("varies")
                assert why in VARIES, f"{path.name}, cell {number}: say in its metadata why it `varies`"


def test_a_shell_command_that_fails_fails_its_notebook(monkeypatch):
    monkeypatch.syspath_prepend(ROOT / ".ci")
    from chapters import kernels

    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("!exit 3")])
    with pytest.raises(CellExecutionError, match="exit status 3"):
        NotebookClient(notebook, timeout=int(60 * pace()), kernel_name="python3").execute(env=kernels())


# ------------------------------------------------------------------------------------------------ licences, machines


def test_licences():
    assert "MIT License" in (ROOT / "LICENSE").read_text()
    assert "creativecommons.org/licenses/by/4.0" in (ROOT / "LICENSE-text.md").read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["project"]["version"]
    assert {"MIT", "CC-BY-4.0"} == set(citation["license"])


# a folder of somebody's machine; written in pieces so that this file does not find itself
MACHINE = re.compile("(?<![\\w.$}])/(" + "|".join(["work", "home", "Users", "root", "opt", "tmp/[a-z]"]) + ")/[\\w.]")


def test_no_text_names_a_path_of_one_machine():
    found = []
    for path in FILES:
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # a picture
        for number, line in enumerate(text.splitlines(), 1):
            if (match := MACHINE.search(line)) and len(line) < 100_000:
                found.append(
                    f"{path.relative_to(ROOT)}:{number}: {line[max(0, match.start() - 20) : match.end() + 40]}"
                )
    assert not found, "\n".join(found)
