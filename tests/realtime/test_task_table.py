"""The table of a form: its numbers are those of the analyses, and what it refuses."""

import subprocess
import sys

import pytest

from reference.realtime.task_table import SHOWN, task_table

GIVEN = {"C1": 3, "T1": 7, "D1": 7, "C2": 3, "T2": 12, "D2": 12, "C3": 5, "T3": 20, "D3": 20}  # Burns and Wellings


def test_bound_and_simulation_of_a_published_set():
    *rows, total = task_table(**GIVEN, edf=0, interrupted=1)
    assert [row["bound on R"] for row in rows] == [row["simulated"] for row in rows] == [3, 6, 20]
    assert rows[2]["from time 0"].startswith("░" * 6 + "█" + "░" * 3 + "█" * 2 + "░") and total["late jobs"] == 0
    assert {len(row["from time 0"]) for row in rows} == {SHOWN} and total["from time 0"] == "in time"


def test_the_four_cases_differ():
    """A deadline of 8 is for EDF with interruptions only; what runs to its end is seen in time from a common start."""
    answers = {(e, i): task_table(**GIVEN | {"D3": 8}, edf=e, interrupted=i) for e in (0, 1) for i in (0, 1)}
    assert [case for case, rows in answers.items() if rows[-1]["from time 0"] == "in time"] == [(1, 1)]
    assert [row["bound on R"] for row in answers[0, 1]] == [3, 6, 20, None] and answers[0, 1][2]["late jobs"]
    assert [row["bound on R"] for row in answers[0, 0]] == [7, 13, 11, None]
    assert answers[0, 0][1]["simulated"] < 13 and not answers[1, 0][-1]["late jobs"]
    assert {tuple(row) for rows in answers.values() for row in rows} == {tuple(answers[0, 0][0])}  # the same columns


@pytest.mark.parametrize("wrong", [{"C1": 8}, {"T1": 101}, {"C2": 0}, {"edf": 2}, {"interrupted": 2}])
def test_numbers_that_make_no_sense_are_refused(wrong):
    with pytest.raises(ValueError, match=r"8|101|0|2"):
        task_table(**{**GIVEN, "edf": 0, "interrupted": 1, **wrong})


def test_overload_answers_too():
    rows = task_table(**GIVEN | {"C3": 20}, edf=0, interrupted=1)
    assert rows[2]["bound on R"] is None and rows[2]["late jobs"] and rows[-1]["from time 0"] == "not proved"


def test_a_page_can_import_it():
    code = "import sys, reference.realtime.task_table; print({'numpy', 'torch', 'mpi4py'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "set()"
