"""Printed tables become tables; sentences that stand below each other do not."""

import sys

import nbformat
import pytest
from docutils import nodes

from .files import ROOT

sys.path.append(str(ROOT / "book/_ext"))

from printed_tables import Table, blocks, node  # the book's own extensions are no package

TEXT = """alpha = 122 us
64 ranks              rounds   formula
ring                     126  3.27 ms
recursive doubling         6  8.08 ms
all agree: True
"""


def tables(text):
    return [each for each in blocks(text) if isinstance(each, Table)]


def test_a_table_is_found_between_lines():
    before, table, after = blocks(TEXT)
    assert (before, after) == ("alpha = 122 us", "all agree: True")
    assert table.heads == ["64 ranks", "rounds", "formula"]
    assert table.rows == [["ring", "126", "3.27 ms"], ["recursive doubling", "6", "8.08 ms"]]
    assert table.numeric == [False, True, True]


@pytest.mark.parametrize(
    "text",
    [
        "one by one  : 4.5 ms\ntogether    : 0.5 ms\nhidden      : 0.1 ms\n",
        "GPipe: ran 34 s, simulated 34 s\n1F1B:  ran 37 s, simulated 37 s\nother: ran  3 s, simulated  3 s\n",
        "  H  loss  loss\n",
        "gain of   interleaving     scatter\n"
        "          v = 2  v = 4    v = 8\n  12      45%    31%      54%\n  24       4%     3%       5%\n",
        "      loss   kB\nring   0.1   12\ntree   0.2   13\n" + "words that go over all of it\n" * 4,
    ],
)
def test_other_text_stays_as_it_is(text):
    assert list(blocks(text)) == [text.rstrip("\n")]


def test_nothing_of_an_output_is_lost():
    for path in (ROOT / "chapters").glob("*.ipynb"):
        for cell in nbformat.read(path, as_version=4).cells:
            for out in cell.get("outputs", []):
                text = out.get("text", "")
                kept = " ".join(
                    each if isinstance(each, str) else " ".join(map(" ".join, [each.heads, *each.rows]))
                    for each in blocks(text)
                )
                assert kept.split() == text.split(), path.name


def test_the_page_has_heads_and_numbers_flush_right():
    (table,) = tables(TEXT)
    made = node(table)
    assert [head.astext() for head in next(made.findall(nodes.thead)).findall(nodes.entry)] == table.heads
    body = list(next(made.findall(nodes.tbody)).findall(nodes.entry))
    assert [each["classes"] for each in body[:3]] == [[], ["text-right"], ["text-right"]]
