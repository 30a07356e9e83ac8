"""What differs by more than a tenth from what a page predicted is explained right below.

The cell's metadata quotes the words that do so: {"residual": "passes are lost in each round"}.
"""

import nbformat
import pytest

from .files import ROOT
from .residuals import APART, pairs, residual

PAGES = sorted((ROOT / "chapters").glob("*.ipynb"))
COLUMNS = "  P  predicted  simulated\n  2    {} ms    {} ms\n"


def unexplained(cells) -> list[str]:
    """Return one line for each output with a residual that the text below does not explain, or a quote too many."""
    told = []
    for cell, after in zip(cells, [*cells[1:], {"cell_type": "raw", "source": ""}]):
        if cell["cell_type"] != "code":
            continue
        outputs = cell["outputs"]
        found = pairs("\n".join(out.get("text") or out.get("data", {}).get("text/plain", "") for out in outputs))
        varies = "nbval-ignore-output" in cell["metadata"].get("tags", [])
        apart = [pair for pair in found if varies or residual(pair) > APART]
        quote = cell["metadata"].get("residual")
        if apart and (not quote or after["cell_type"] != "markdown" or quote not in after["source"]):
            worst = max(apart, key=residual)
            told.append(f"{worst[0]!r} is {residual(worst):.0%} apart: explain it below, and quote that as `residual`")
        if quote and not apart:
            told.append(f"nothing is apart: take the quote {quote!r} out of the metadata")
    return told


def page(output, below="", tags=(), **metadata):
    """The cells of a page: one with this output, and what is below it."""
    code = nbformat.v4.new_code_cell("x", outputs=[nbformat.v4.new_output("stream", text=output)])
    code.metadata.update({"tags": list(tags), **metadata})
    return [code, nbformat.v4.new_markdown_cell(below)]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_residuals_are_explained_where_they_are_shown(path):
    assert unexplained(nbformat.read(path, as_version=4).cells) == []


@pytest.mark.parametrize(
    "output",
    [
        COLUMNS.format("2.000", "2.300"),
        "  P  measured ms  by formula\n  2        2.300       2.000\n",
        "size  bytes  predicted ms  measured ms  measured / predicted\n  64   1.00        -            -        1.15\n",
        "  P    bytes   formula\n  2      230       200\n",
        "published/simulated  1F1B\n     1.5B p=8  2.00/2.00  3.60/3.00\n",
        "GPipe: predicted 20.0, simulated 23.0 ms\n",
        "m = 3: 6.0 s lost, 4.5 by the formula\n",
        "1F1B: 11.5 measured, 14.5 promised\n",
        " measured: 128 ms, idle 27%\nsimulated: 122 ms, idle 20%\n",
        "formula  6.1 s\nschedule 7.1 s\n",
    ],
)
def test_a_residual_of_over_a_tenth_needs_words(output):
    assert "apart" in unexplained(page(output, "They agree."))[0]
    assert unexplained(page(output, "They differ, since P is odd.", residual="since P is odd")) == []
    assert unexplained(page(output, "They differ.", residual="since P is odd"))


def test_a_small_residual_needs_none():
    small = COLUMNS.format("2.000", "2.150")
    assert unexplained(page(small)) == []
    assert "take the quote" in unexplained(page(small, "since P is odd", residual="since P is odd"))[0]


def test_timings_are_explained_since_they_vary():
    assert unexplained(page(COLUMNS.format("2.0", "2.0"), "They agree.", tags=["nbval-ignore-output"]))


def test_numbers_of_other_columns_are_not_compared():
    assert pairs("  P  rounds  bytes\n  2       9      1\n") == []
