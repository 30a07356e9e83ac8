"""Book and chapters: complete, small, and run; outputs that are not compared say why."""

import json
import re

import nbformat
import pytest
import yaml
from nbclient import NotebookClient
from nbclient.exceptions import CellExecutionError

from reference.perf.pace import pace

from .files import MADE, ROOT


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


VARIES = {
    "timings",
    "which processors this machine has",
    "the order in which real messages arrive",
    "whether Open MPI is installed",
}


def test_outputs_that_are_not_compared_vary_by_nature():
    """Never because of rounding: what depends on the processor is printed as what holds on each of them."""
    for path in (ROOT / "chapters").glob("*.ipynb"):
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            if "nbval-ignore-output" in cell["metadata"].get("tags", []):
                why = cell["metadata"].get("varies")
                assert why in VARIES, f"{path.name}, cell {number}: say in its metadata why it `varies`"


def test_a_shell_command_that_fails_fails_its_notebook(ci):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("!exit 3")])
    with pytest.raises(CellExecutionError, match="exit status 3"):
        NotebookClient(notebook, timeout=int(60 * pace()), kernel_name="python3").execute(env=ci("chapters").kernels())
