"""The table of what mpi4py's own tests say: `python -m tests.conformance.table` runs them all and writes it anew.

results.json has the counts; table.md is made of it, and is a part of the book's page on reference.mpi.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from contextlib import suppress
from pathlib import Path

from tests.conformance.runs import FEWER, FILES, NOT_RUN, RANKS, RUNS, WORLDS, run_file
from tests.conformance.source import VERSION

HERE = Path(__file__).parent
KINDS = ("passed", "failed", "refused", "different", "skipped")


def stored() -> dict:
    """{"world file ranks": {"counts": {...}, "reasons": {...}}}"""
    file = HERE / "results.json"
    return json.loads(file.read_text()) if file.exists() else {}


def text(results: dict) -> str:
    """The table in Markdown."""
    lines = [
        f"mpi4py {VERSION}'s own tests, each method on {', '.join(map(str, RANKS))} ranks, windows on fewer, in both "
        "worlds. *Refused*: "
        "the method makes a call that is not offered, and was told so; *different*: on purpose, see below; *skipped*: "
        "by mpi4py itself, as a rule for lack of a GPU library.",
        "",
        "| mpi4py's file | about | " + " | ".join(f"{world}: {kind}" for world in WORLDS for kind in KINDS) + " |",
        "| --- | --- |" + " ---: |" * (len(WORLDS) * len(KINDS)),
    ]
    totals: Counter = Counter()
    for file, about in FILES.items():
        cells = []
        for world in WORLDS:
            keys = [f"{world} {file} {ranks}" for ranks in FEWER.get(file, RANKS)]
            counts = sum((Counter(results[key]["counts"]) for key in keys), Counter())
            totals.update({(world, kind): counts[kind] for kind in KINDS})
            cells += [f"{counts[kind]}" for kind in KINDS]
        lines.append(f"| `{file}` | {about} | " + " | ".join(cells) + " |")
    sums = [f"**{totals[world, kind]}**" for world in WORLDS for kind in KINDS]
    lines += ["| **all** | | " + " | ".join(sums) + " |", "", "Why methods were refused, or differ:", ""]
    for world in WORLDS:
        reasons = sum((Counter(run["reasons"]) for key, run in results.items() if key.startswith(world)), Counter())
        lines += [f"- {world}: {why} ({number})" for why, number in reasons.most_common()]
    lines += ["", "Not run:", ""]
    lines += [f"- {why}: {', '.join(f'`test_{file}`' for file in files.split())}" for why, files in NOT_RUN.items()]
    return "\n".join(lines) + "\n"


def main(argv: list[str]) -> int:
    """Run the files and worlds named (all, unless told), store what came out, and write the table."""
    worlds = [word for word in argv if word in WORLDS] or WORLDS
    failed = []
    files = [word for word in argv if word in FILES] or FILES
    for world in worlds:
        for file, ranks in [run for run in RUNS if run[0] in files]:
            counts, reasons, failures = run_file(file, ranks, world)
            store(f"{world} {file} {ranks}", {"counts": dict(counts), "reasons": dict(reasons)})
            failed += failures
            print(world, file, ranks, dict(counts), *failures, sep="\n   " if failures else " ", flush=True)
    with suppress(KeyError):  # some have never been run
        (HERE / "table.md").write_text(text(stored()))
    return bool(failed)


def store(key: str, found: dict) -> None:
    """Put one more result into the file."""
    results = {**stored(), key: found}
    (HERE / "results.json").write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
