"""A Sphinx extension: Python in the page, for widgets whose HTML has `data-python` (reference/pages/live.py).

Pyodide, CPython compiled to WebAssembly (MPL 2.0), is fetched once from the npm registry into the build folder and
compared with the hash below. It is copied to _static/python/ with a zip of the package, and pages that have such a
widget get a meta tag that says where. Where it cannot be fetched the tag is left out: widgets show what is stored in
them. Nothing is loaded before a reader touches a control that needs it.
"""

from __future__ import annotations

import hashlib
import os
import tarfile
import urllib.request
import zipfile
from io import BytesIO
from pathlib import Path

from sphinx.util import logging

VERSION = "314.0.7"  # CPython 3.14.2
SHA256 = "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0"
REGISTRY = "https://registry.npmjs.org"
FILES = ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json")
ROOT = Path(__file__).resolve().parents[2]
SECONDS = 60  # for the registry to answer

logger = logging.getLogger(__name__)


def fetched(folder: Path) -> bool:
    """Whether Pyodide's files lie in this folder, fetched now if need be; says why if not."""
    if all((folder / name).exists() for name in FILES):
        return True
    registry = os.environ.get("NPM_CONFIG_REGISTRY", REGISTRY).rstrip("/")
    address = f"{registry}/pyodide/-/pyodide-{VERSION}.tgz"
    try:
        with urllib.request.urlopen(address, timeout=SECONDS) as answer:
            packed = answer.read()
    except OSError as error:
        logger.info("live: no Python in the pages, %s could not be fetched: %s", address, error)
        return False
    if (found := hashlib.sha256(packed).hexdigest()) != SHA256:
        logger.warning("live: %s is not what it was: SHA-256 %s, and %s is wanted", address, found, SHA256)
        return False
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        for name in FILES:
            (folder / name).write_bytes(archive.extractfile(f"package/{name}").read())
    return True


def prepare(app) -> None:
    """Before pages are written: is there a Python for them?"""
    app.erc_python = app.builder.format == "html" and fetched(ROOT / f"build/pyodide-{VERSION}")


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
    for name in FILES:
        (folder / name).write_bytes((ROOT / f"build/pyodide-{VERSION}" / name).read_bytes())
    with zipfile.ZipFile(folder / "reference.zip", "w", zipfile.ZIP_DEFLATED) as packed:
        for source in sorted((ROOT / "reference").rglob("*.py")):
            packed.write(source, source.relative_to(ROOT).as_posix())


def setup(app) -> dict:
    """Register the extension."""
    app.connect("builder-inited", prepare)
    app.connect("html-page-context", tell)
    app.connect("build-finished", deliver)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
