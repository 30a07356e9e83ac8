"""A form: its table is the function's, now and when the page asks; the schedules for one's own numbers."""

import json
import re
from html import unescape

import pytest

from reference.pages.form import Field, Form, shown, table
from reference.pages.live import answer
from reference.pages.schedule_table import AGAINST, schedule_table
from reference.pipeline.schedules import SCHEDULES, make
from reference.pipeline.simulate import Costs, activations, simulate

NUMBERS = {"p": 4, "m": 8, "v": 2, "F": 1.0, "I": 1.0, "W": 0.5, "message": 0.1, "room": 4.0}


def halves(count: int, size: float) -> list[dict]:
    """A function as a form takes it."""
    if count < 1:
        raise ValueError(f"count is at least 1, got {count}")
    return [{"part": f"<{k}>", "size": size / 2**k, "note": None} for k in range(count)]


FIELDS = [Field("count", "how many", 2, 1), Field("size", "size (m)", 3.0)]


def cells(html: str) -> list[list[str]]:
    """The text of a table, row by row."""
    rows = re.findall(r"<tr>(.*?)</tr>", html, re.DOTALL)
    return [[unescape(cell) for cell in re.findall(r"<t[hd][^>]*>(.*?)</t[hd]>", row)] for row in rows]


def test_the_page_has_the_table_of_the_first_values_without_any_script():
    html = Form(halves, FIELDS, "halves")._repr_html_()
    instead = html[: html.index("<script")]
    assert cells(instead) == [["part", "size", "note"], ["<0>", "3", ""], ["<1>", "1.5", ""]]
    assert "how many: 2, size (m): 3" in instead and "data-python" in instead
    told = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])
    assert told["call"] == f"{__name__}.halves"
    assert [(field["whole"], field["least"], field["most"]) for field in told["fields"]] == [
        (True, 1, None),
        (False, 0, None),
    ]


def test_the_page_is_answered_with_the_same_table_or_with_words():
    def asked(**given):
        question = {"call": "reference.pages.form.shown", "given": {"call": f"{__name__}.halves", "given": given}}
        return json.loads(answer(json.dumps(question)))

    assert asked(count=2, size=3.0) == {"value": table(halves(2, 3.0))}
    assert asked(count=0, size=3.0) == {"refused": "count is at least 1, got 0"}
    assert asked(count=1.5, size=3.0) == {"refused": "count is a whole number, got 1.5"}
    assert asked(count=1, size=1.5) == {"value": table(halves(1, 1.5))}


def test_another_table_is_another_page():
    one, same, other = (
        Form(halves, FIELDS, "halves"),
        Form(halves, FIELDS, "halves"),
        Form(halves, FIELDS[:1] + [Field("size", "size (m)", 4.0)], "halves"),
    )
    assert repr(one) == repr(same) != repr(other) and repr(one).startswith("halves: 2 rows")


def test_every_schedule_has_its_row_and_the_quickest_that_fits_is_first():
    rows = schedule_table(**NUMBERS)
    assert sorted(row["schedule"] for row in rows) == sorted(SCHEDULES)
    fitting = [row for row in rows if not row[AGAINST]]
    assert rows[: len(fitting)] == fitting and 0 < len(fitting) < len(rows)
    assert [row["makespan (s)"] for row in fitting] == sorted(row["makespan (s)"] for row in fitting)
    for row in rows:
        name = row["schedule"]
        schedule = make(name, 4, 8, 2 if SCHEDULES[name].chunks is None else SCHEDULES[name].chunks)
        share = schedule.ranks / schedule.stages
        costs = Costs(*([seconds * share] * schedule.stages for seconds in (1.0, 1.0, 0.5)), send=0.1)
        assert row["makespan (s)"] == pytest.approx(simulate(schedule, costs).makespan)
        assert row["activations"] == pytest.approx(max(activations(schedule)) * share)
        assert (row["activations"] > 4) == row[AGAINST].startswith("keeps ")


def test_a_schedule_that_there_is_not_says_why():
    rows = {row["schedule"]: row for row in schedule_table(**NUMBERS | {"m": 3})}
    assert (
        rows["DualPipe"][AGAINST].startswith("DualPipe for p = 4, m = 3") and rows["DualPipe"]["makespan (s)"] is None
    )
    assert rows["1F1B"]["makespan (s)"] is not None


@pytest.mark.parametrize(
    "given, said", [({"p": 0}, "p is a whole number"), ({"m": 128}, "1,024 forward"), ({"W": -1.0}, "seconds are")]
)
def test_numbers_that_cannot_be_are_refused(given, said):
    with pytest.raises(ValueError, match=said):
        schedule_table(**NUMBERS | given)


def test_the_page_can_ask_for_it():
    told = shown("reference.pages.schedule_table.schedule_table", NUMBERS)
    assert len(cells(told)) == 1 + len(SCHEDULES)
