"""A Sphinx extension: Python in the page, for widgets whose HTML has `data-python` (reference/pages/live.py).

Pyodide, CPython compiled to WebAssembly, is fetched from the npm registry (npm.py) and put into _static/python/ with a
zip of the package and of what grades exercises; pages that have such a widget get a meta tag that says where. Where it
cannot be fetched the tag is left out: widgets show what is stored in them. Nothing is loaded before a reader touches a
control that needs it.
"""

from __future__ import annotations

import ast
import shutil
import zipfile
from pathlib import Path

from npm import PYODIDE, fetched
from sphinx.util import logging

ROOT = Path(__file__).resolve().parents[2]

# No solutions: what grades an answer is enough, and of a solution its docstrings, why it works
SOURCES = ("reference/**/*.py", "exercises/__init__.py", "exercises/grading/*.py", "exercises/graders/**/*.py")

logger = logging.getLogger(__name__)


def prepare(app) -> None:
    """Before pages are written: is there a Python for them?"""
    app.erc_python = None
    if app.builder.format == "html":
        try:
            app.erc_python = fetched(PYODIDE, ROOT / "build")
        except OSError as error:
            logger.info("live: no Python in the pages, Pyodide could not be fetched: %s", error)


def tell(app, pagename, templatename, context, doctree) -> None:
    """Tell the pages with such a widget where it is."""
    if app.erc_python and "data-python" in (context.get("body") or ""):
        where = context["pathto"]("_static/python_worker.js", 1)
        context["metatags"] = context.get("metatags", "") + f'\n<meta name="erc-python" content="{where}" />'


def deliver(app, error) -> None:
    """At the end: put it where the tag says."""
    if error or not app.erc_python:
        return
    folder = Path(app.outdir, "_static/python")
    folder.mkdir(parents=True, exist_ok=True)
    for name in PYODIDE.files:
        shutil.copyfile(app.erc_python / name, folder / name)
    pack(folder / "packages.zip")


def pack(archive: Path) -> None:
    """Write the sources that pages may ask for into a zip."""
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as packed:
        for source in sorted(source for pattern in SOURCES for source in ROOT.glob(pattern)):
            packed.write(source, source.relative_to(ROOT).as_posix())
        for solutions in sorted(ROOT.glob("exercises/solutions/ch[0-9]*.py")):
            if not solutions.stem.endswith("_again"):
                packed.writestr(solutions.relative_to(ROOT).as_posix(), docstrings(solutions.read_text()))


def docstrings(text: str) -> str:
    """The functions of a module, with nothing but their docstrings."""
    functions = (node for node in ast.parse(text).body if isinstance(node, ast.FunctionDef))
    return "".join(f"def {node.name}():\n    {ast.get_docstring(node)!r}\n" for node in functions)


def setup(app) -> dict:
    """Register the extension."""
    app.connect("builder-inited", prepare)
    app.connect("html-page-context", tell)
    app.connect("build-finished", deliver)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
