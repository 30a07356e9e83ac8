"""Run the notebooks and store their outputs; what did not change stays as it is, byte for byte.

    python .ci/notebooks.py       all of them (`make notebooks`)
    python .ci/notebooks.py 9     chapter 9

Most figures are drawn from data that their cell prints. So if a cell's code and printed text are the same as before,
its old outputs are kept, pictures included: a new version of the drawing library does not rewrite megabytes of history.
A picture beside which nothing is printed is always the new one, as is one that is not stored in the form of figures.py.
Cells tagged `nbval-ignore-output` (timings) always store what this run gave.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import figures
import nbformat
from nbclient import NotebookClient

from chapters import everything, kernels, known
from reference.perf.pace import pace

VARIES = "nbval-ignore-output"
LIMIT = 1_000_000  # bytes
CELL_SECONDS = 120
METADATA = {
    "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
    "language_info": {"name": "python", "pygments_lexer": "ipython3"},
}


def words_of(cell) -> list[str]:
    """Return the text that a code cell shows: streams and text/plain, without its pictures."""
    return [
        out.get("text") or out.get("data", {}).get("text/plain") or out.get("evalue", "")
        for out in cell.get("outputs", [])
    ]


def tells(cell) -> bool:
    """Whether the printed text of a cell would show that its pictures have changed."""
    return not figures.pictures(cell) or any(not words.startswith("<") for words in words_of(cell))


def is_kept(cell, before) -> bool:
    """Whether a cell that was run again keeps the outputs that it had before."""
    varies = VARIES in cell.metadata.get("tags", [])
    return not varies and tells(cell) and words_of(before) == words_of(cell) and figures.stored_so(before)


def keep_old_outputs(new, old) -> int:
    """Put the old outputs into every cell whose code and printed text are as before; return how many were new."""
    known = {cell.source: cell for cell in old.cells if cell.cell_type == "code"}
    changed = 0
    for cell in (cell for cell in new.cells if cell.cell_type == "code"):
        before = known.get(cell.source)
        if before is not None and is_kept(cell, before):
            cell.outputs = before.outputs
        else:
            changed += 1
    return changed


def merge_streams(cell) -> None:
    """Join neighbouring stream outputs of one name: how text is cut into messages differs from run to run."""
    merged = []
    for out in cell.get("outputs", []):
        last = merged[-1] if merged else None
        if last is not None and out.output_type == "stream" == last.output_type and out.name == last.name:
            last.text += out.text
        else:
            merged.append(out)
    if cell.cell_type == "code":
        cell.outputs = merged


def execute(path: Path) -> None:
    """Run one notebook in its folder and store it if anything changed."""
    old = nbformat.read(path, as_version=4)
    new = nbformat.from_dict(old)
    new = nbformat.reads(nbformat.writes(new), as_version=4)
    start = time.monotonic()
    NotebookClient(new, timeout=int(CELL_SECONDS * pace()), resources={"metadata": {"path": str(path.parent)}}).execute(
        env=kernels()
    )
    seconds = time.monotonic() - start
    for cell in new.cells:
        cell.metadata.pop("execution", None)
        merge_streams(cell)
        figures.store(cell)
    changed = keep_old_outputs(new, old)
    new.metadata = nbformat.from_dict(METADATA)
    text = nbformat.writes(new) + "\n"
    if text != path.read_text():
        path.write_text(text)
    size = len(text.encode())
    mark = "  OVER 1 MB" if size > LIMIT else ""
    print(f"{path.name}: {seconds:.1f} s, {changed} cell(s) with new outputs, {size / 1000:.0f} kB{mark}")


if __name__ == "__main__":
    wanted = known(sys.argv[1]) if len(sys.argv) > 1 else everything()
    if not wanted.notebooks:
        sys.exit(f"{wanted.name} has no notebook")
    for file in wanted.notebooks:
        execute(Path(file))
