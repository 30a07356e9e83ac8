"""Run the tests as other machines would: other processors, threads, cores, a busy machine, another folder or Python.

    python .ci/machines.py                           each once, several at a time (`make test-machines`): an hour or two
    python .ci/machines.py --each                    each alone, as every night: five hours
    python .ci/machines.py "no AVX" busy             these (`make test-machines ON="busy"`)
    python .ci/machines.py ATEN_CPU_CAPABILITY=avx2  one setting alone, as one likes
    python .ci/machines.py --only notebooks unlike   notebooks, on the processor that is least like this one
    python .ci/machines.py --list                    all names, and what each of them is

The last digits of a sum depend on the order in which a processor adds. Libraries choose that order by the processor,
and let themselves be told to choose for another one: so one machine can play several. What a machine cannot play (four
cores where there are two, vector units that it lacks) is named and passed over.
"""

from __future__ import annotations

import argparse
import functools
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from chapters import ROOT, known

CI = Path(__file__).resolve().parent
FEATURES = "import numpy._core._multiarray_umath as m; f = m.__cpu_features__; print(*(k for k in f if f[k]))"
WIDER = "X86_V3 X86_V4 AVX512_ICL AVX512_SPR AVX2 FMA3 AVX512F AVX512_SKX"  # what NumPy may be told to do without
NUMPY = "NPY_DISABLE_CPU_FEATURES"
DISPATCHED = "import numpy._core._multiarray_umath as m; print(*m.__cpu_dispatch__)"
FOLDER = "Jeder Rang zählt"  # a space and an umlaut


class Machine(NamedTuple):
    """What is different on a machine. needs: what this one must have to play it, a CPU feature as NumPy names it."""

    settings: Mapping[str, str] = MappingProxyType({})
    cores: int = 0
    busy: int = 0  # endless loops beside the tests
    clone: bool = False  # in another folder, set up from nothing
    python: str = ""
    needs: str = ""


def threads(n: int) -> dict[str, str]:
    """That many threads for each library, outside ranks (a rank has one)."""
    return dict.fromkeys(("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(n))


ATEN, MKL, ONEDNN, BLAS = "ATEN_CPU_CAPABILITY", "MKL_CBWR", "ONEDNN_MAX_CPU_ISA", "OPENBLAS_CORETYPE"
PLAIN = {ATEN: "default", MKL: "COMPATIBLE", ONEDNN: "SSE41", BLAS: "Nehalem", NUMPY: WIDER}
HASWELL = {ATEN: "avx2", MKL: "AVX2", ONEDNN: "AVX2", BLAS: "Haswell", NUMPY: "X86_V4 AVX512_ICL AVX512_SPR"}
SKYLAKE = {ATEN: "avx512", BLAS: "SkylakeX"}

MACHINES = {
    "no AVX": Machine(PLAIN, needs="X86_V2"),  # a processor of 2008
    "Haswell": Machine(HASWELL, needs="AVX2"),  # of 2013
    "Skylake": Machine(SKYLAKE, needs="AVX512F"),  # a server of 2017
    "another order": Machine({"PYTHONPATH": str(CI / "another_order")}),  # of none
    "1 thread": Machine(threads(1)),
    "2 threads": Machine(threads(2)),
    "4 threads": Machine(threads(4)),
    "1 core": Machine(cores=1),
    "2 cores": Machine(cores=2),
    "4 cores": Machine(cores=4),
    "busy": Machine(busy=2),
    "another folder": Machine(clone=True),
    **{f"Python 3.{minor}": Machine(clone=True, python=f"python3.{minor}") for minor in (11, 12, 13, 14)},
}
SINGLE = {  # one library at a time, for those who look for the cause
    NUMPY if name == NUMPY else f"{name}={value}": Machine({name: value}, needs=needs)
    for name, value, needs in (
        (ATEN, "default", "X86_V2"),
        (ATEN, "avx2", "AVX2"),
        (ATEN, "avx512", "AVX512F"),
        (MKL, "COMPATIBLE", "X86_V2"),
        (MKL, "AVX2", "AVX2"),
        (ONEDNN, "SSE41", "X86_V2"),
        (NUMPY, WIDER, "X86_V3"),
        (BLAS, "Nehalem", "X86_V2"),
        (BLAS, "Haswell", "AVX2"),
        (BLAS, "SkylakeX", "AVX512F"),
    )
}


TOGETHER = {  # every way once, several at a time, because each alone takes five times as long; --each finds the culprit
    "an old laptop": ("no AVX", "1 core", "1 thread"),
    "a busy desktop": ("Haswell", "2 cores", "2 threads", "busy"),
    "a server": ("Skylake", "4 cores", "4 threads", "another folder"),
    **{f"Python 3.{minor}": ("another order", f"Python 3.{minor}") for minor in (12, 13, 14)},
}


def together(names: tuple[str, ...]) -> Machine:
    """One machine that differs in all of these ways, as far as this one can play them."""
    parts = [MACHINES[name] for name in names if not lacking(MACHINES[name])]
    return Machine(
        settings={key: value for part in parts for key, value in part.settings.items()},
        cores=min((part.cores for part in parts if part.cores), default=0),
        busy=max((part.busy for part in parts), default=0),
        clone=any(part.clone for part in parts),
        python=next((part.python for part in parts if part.python), ""),
    )


@functools.cache
def said(code: str) -> set[str]:
    """The words that a line of Python prints on this machine as it is, whatever it plays."""
    plain = {name: value for name, value in os.environ.items() if name != NUMPY}
    return set(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=plain).stdout.split())


@functools.cache
def runs(python: str) -> bool:
    """Whether there is such a Python; of a version manager there may be a command that only says what to install."""
    return shutil.which(python) is not None and subprocess.run([python, "-c", ""], capture_output=True).returncode == 0


def lacking(machine: Machine) -> str:
    """Why this machine cannot play another one; empty if it can."""
    if machine.needs and machine.needs not in said(FEATURES):
        return f"this processor ({platform.machine()}) has no {machine.needs}"
    if machine.cores:
        if not hasattr(os, "sched_getaffinity"):
            return "only Linux lends cores"
        if machine.cores > (here := len(os.sched_getaffinity(0))):
            return f"{machine.cores} cores wanted, {here} here"
    if machine.python and not runs(machine.python):
        return f"no {machine.python} here"
    return ""


def environment(settings: Mapping[str, str]) -> dict[str, str]:
    """Ours and these settings; NumPy refuses what it does not know, so it is told what it knows only."""
    known = dict(settings)
    if NUMPY in known:
        known[NUMPY] = " ".join(sorted(set(known[NUMPY].split()) & said(DISPATCHED) & said(FEATURES)))
    return os.environ | known


@contextmanager
def loops(number: int) -> Iterator[None]:
    """That many processes that compute without end, as long as this lasts."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(number)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


@contextmanager
def clone(python: str) -> Iterator[Path]:
    """A fresh clone in a folder with a space and an umlaut, set up as the README says. Raises CalledProcessError."""
    with tempfile.TemporaryDirectory() as parent:
        folder = Path(parent) / FOLDER
        subprocess.run(["git", "clone", "-q", str(ROOT), str(folder)], check=True)
        subprocess.run(["make", "install", *([f"PYTHON={python}"] if python else [])], cwd=folder, check=True)
        yield folder


def play(machine: Machine, arguments: list[str]) -> tuple[str, float]:
    """Run .ci/test.py on a machine; how it went, and in how many seconds."""
    start = time.monotonic()
    if why := lacking(machine):
        return f"left out: {why}", 0.0
    cores = set(sorted(os.sched_getaffinity(0))[: machine.cores]) if machine.cores else set()
    with ExitStack() as stack:
        stack.enter_context(loops(machine.busy))
        folder = ROOT
        if machine.clone:
            try:
                folder = stack.enter_context(clone(machine.python))
            except subprocess.CalledProcessError as error:
                how = "left out" if machine.python else "FAILED"  # there may be no torch yet for that Python
                return f"{how}: {' '.join(error.cmd[:2])} ended with {error.returncode}", time.monotonic() - start
        done = subprocess.run(
            [str(folder / ".venv/bin/python"), ".ci/test.py", "--no-budget", *arguments],
            cwd=folder,
            env=environment(machine.settings),
            preexec_fn=(lambda: os.sched_setaffinity(0, cores)) if cores else None,
        )
    return "passed" if done.returncode == 0 else "FAILED", time.monotonic() - start


def unlike() -> str:
    """The machine that is least like this one."""
    return "another order" if lacking(MACHINES["no AVX"]) else "no AVX"


def chosen(names: list[str]) -> dict[str, Machine]:
    """The machines of these names; NAME=VALUE is any setting. Ends the program if a name is unknown."""
    known = {name: together(ways) for name, ways in TOGETHER.items()} | MACHINES | SINGLE
    known["unlike"] = MACHINES[unlike()]
    found = {}
    for name in names:
        setting, equals, value = name.partition("=")
        if name not in known and not equals:
            sys.exit(f"there is no machine {name!r}; there are: {', '.join(known)}, or NAME=VALUE")
        found[name] = known.get(name) or Machine({setting: value})
    return found


def all_at_once() -> dict[str, Machine]:
    """The machines of TOGETHER, named with all that is different on them, and what cannot be played."""
    found = {}
    for name, ways in TOGETHER.items():
        why = [f"without {way}: {lacking(MACHINES[way])}" for way in ways if lacking(MACHINES[way])]
        newer = [way for way in ways if way.startswith("Python")]
        if not any(lacking(MACHINES[way]) for way in newer):
            found[f"{name} ({', '.join(ways)}{'; ' * bool(why)}{', '.join(why)})"] = together(ways)
    return found


def main() -> int:
    """Play the machines that were asked for, one after the other; 0 if none of those that could be played failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("machines", nargs="*", metavar="MACHINE", help="names (see --list), or NAME=VALUE")
    parser.add_argument("--only", choices=("unit", "graders", "notebooks"), help="one part of the tests")
    parser.add_argument("--chapter", type=known, help="only this chapter, or this folder or module of tests/")
    parser.add_argument("--each", action="store_true", help="each machine alone")
    parser.add_argument("--list", action="store_true", help="print the names and end")
    asked = parser.parse_args()
    if asked.list:
        for name, machine in (MACHINES | SINGLE).items():
            print(f"{name:32} {lacking(machine) or 'can be played here'}")
        return 0
    machines = chosen(asked.machines) or (MACHINES if asked.each else all_at_once())
    arguments = ["--only", asked.only] if asked.only else ["--no-lint"]
    arguments += [asked.chapter.name.removeprefix("chapter ")] if asked.chapter else []
    results = {}
    for name, machine in machines.items():
        print(f"\n######## {name}", flush=True)
        results[name] = play(machine, arguments)
    print("\nMachines")
    for name, (result, seconds) in results.items():
        print(f"  {result}  {name} ({seconds:.0f} s)")
    return int(any(result.startswith("FAILED") for result, _ in results.values()))


if __name__ == "__main__":
    sys.exit(main())
