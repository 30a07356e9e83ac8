"""mpi4py's own tests: its source distribution, fetched from the package index once, its version and content pinned."""

from __future__ import annotations

import fcntl
import hashlib
import subprocess
import sys
import tarfile
from pathlib import Path

VERSION = "4.1.2"
SHA256 = "56860286dc45f20e8821e93cb06669e30462348bf866f685553fa4b712d58d02"
BUILD = Path(__file__).parents[2] / "build"


def folder() -> Path:
    """The folder with mpi4py's tests; fetched if it is not there, by one process at a time."""
    tests, archive = BUILD / f"mpi4py-{VERSION}" / "test", BUILD / f"mpi4py-{VERSION}.tar.gz"
    BUILD.mkdir(exist_ok=True)
    with open(BUILD / "mpi4py.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not tests.is_dir():
            if not archive.is_file():
                fetch()
            found = hashlib.sha256(archive.read_bytes()).hexdigest()
            if found != SHA256:
                raise ValueError(f"{archive} is not mpi4py {VERSION}: its SHA-256 is {found}. Delete it and try again")
            with tarfile.open(archive) as sources:
                sources.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.4 has it
                sources.extractall(BUILD, [member for member in sources if "/test/" in member.name])
    return tests


def fetch() -> None:
    """Download the source distribution with pip, from whatever index pip is told to use."""
    wanted = BUILD / "mpi4py-tests.txt"
    wanted.write_text(f"mpi4py=={VERSION} --hash=sha256:{SHA256}\n")
    options = ["--quiet", "--no-deps", "--no-binary=mpi4py", "--require-hashes", f"--dest={BUILD}", f"-r{wanted}"]
    done = subprocess.run([sys.executable, "-m", "pip", "download", *options], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"pip could not fetch mpi4py's tests (is a package index in reach?):\n{done.stderr}")
