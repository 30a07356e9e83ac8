"""Files of a package from the npm registry, fetched once and compared by hash: no npm and no node are needed."""

from __future__ import annotations

import hashlib
import os
import tarfile
import urllib.request
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

REGISTRY = "https://registry.npmjs.org"  # NPM_CONFIG_REGISTRY names another one
SECONDS = 60  # for the registry to answer


class Package(NamedTuple):
    """A package: its name and version, the SHA-256 of its archive, and the files that are wanted of it."""

    name: str
    version: str
    sha256: str
    files: tuple[str, ...]


PYODIDE = Package(  # CPython 3.14.2 for browsers, MPL 2.0
    "pyodide",
    "314.0.7",
    "66b7949e5a0cba2250b586d7e368bf12fb482800748d182c4618254b685ffaa0",
    ("pyodide.mjs", "pyodide.asm.mjs", "pyodide.asm.wasm", "python_stdlib.zip", "pyodide-lock.json"),
)
AXE = Package(  # rules of accessibility, MPL 2.0
    "axe-core",
    "4.14.1",
    "e6b0ce02b84d892e2e33e403485e7f3d6c29e2be6df65daf44d89ba564139745",
    ("axe.min.js",),
)


def fetched(package: Package, build: Path) -> Path:
    """The folder below `build` in which the package's files lie, fetched now if need be.

    Raises OSError if the registry cannot be reached, ValueError if the archive is another one than it was.
    """
    folder = build / f"{package.name}-{package.version}"
    if all((folder / name).exists() for name in package.files):
        return folder
    registry = os.environ.get("NPM_CONFIG_REGISTRY", REGISTRY).rstrip("/")
    address = f"{registry}/{package.name}/-/{package.name}-{package.version}.tgz"
    with urllib.request.urlopen(address, timeout=SECONDS) as answer:
        packed = answer.read()
    if (found := hashlib.sha256(packed).hexdigest()) != package.sha256:
        raise ValueError(f"{address} is not what it was: its SHA-256 is {found}, and {package.sha256} is wanted")
    folder.mkdir(parents=True, exist_ok=True)
    with tarfile.open(fileobj=BytesIO(packed)) as archive:
        for name in package.files:
            (folder / name).write_bytes(archive.extractfile(f"package/{name}").read())
    return folder
