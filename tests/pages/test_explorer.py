"""The explorer: what the page unpacks is what was simulated, and what it shows is what the functions say."""

import base64
import gzip
import json
import re
from html import unescape
from pathlib import Path
from urllib.parse import parse_qsl

import pytest

from reference.pages.explorer import Explorer
from reference.pages.live import answer
from reference.pages.plans import (
    LETTERS,
    LIMITS,
    MESSAGE_SECONDS,
    PASS_SECONDS,
    TICK,
    ExplorerSetting,
    needed,
    page_data,
    ticks,
    worked_out,
)
from reference.pipeline.analysis.versions import kept_versions
from reference.pipeline.schedule import KINDS, Action, needs
from reference.pipeline.schedules import SCHEDULES, make
from reference.pipeline.simulate import Costs, activations, simulate

COSTS = [(work, send) for work in PASS_SECONDS.values() for send in MESSAGE_SECONDS]  # in the order of a plan's times


@pytest.fixture(scope="module")
def explorer():
    """A small grid of everything that there is."""
    return Explorer(ranks=(2, 4), micro_batches=(1, 4, 8), chunks=(2, 3))


@pytest.fixture(scope="module")
def html(explorer):
    return explorer._repr_html_()


def embedded(html: str) -> dict:
    return json.loads(re.search(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)[1])


def unpacked(html: str) -> dict[str, dict]:
    """The plans in a page, as its script gets them."""
    lines = gzip.decompress(base64.b64decode(embedded(html)["packed"])).decode().split("\n")
    return {key: json.loads(told) for key, told in (line.split("\t") for line in lines)}


def unfolded(told: dict, times: dict) -> list[list[tuple[Action, float, float]]]:
    """Of each rank its actions with start and end in seconds, read as explorer.js reads them."""
    kinds, ranks = list(KINDS), []
    for r, letters in enumerate(told["order"]):
        row, count, clock = [], dict.fromkeys(letters, -1), 0
        for k, letter in enumerate(letters):
            chunk, kind = divmod(LETTERS.index(letter), len(kinds))
            stage, count[letter] = told["stages"][r][chunk], count[letter] + 1
            micro = told["micro"][r].get(letter, range(len(letters)))[count[letter]]
            wait = times["waits"][r][k : k + 1].strip(".")
            took = times["took"][kinds[kind]]
            start = clock + (times["values"][LETTERS.index(wait)] if wait else 0)
            clock = start + (took[stage] if isinstance(took, list) else took)
            row.append((Action(kinds[kind], stage, micro), start * TICK, clock * TICK))
        for k in told["overlapped"][r] if told["overlapped"] else ():
            (first, start, _), (second, _, end) = row[k : k + 2]
            row[k : k + 2] = (first, start, end), (second, start, end)
        ranks.append(row)
    return ranks


def test_what_the_page_unpacks_is_what_was_simulated(explorer, html):
    plans = unpacked(html)
    assert plans == json.loads(json.dumps(explorer.plans)) and len(plans) == len(explorer.settings)
    for setting in explorer.settings:
        told = plans[str(setting)]
        if "refused" in told:
            continue
        schedule = make(*setting)
        for (work, send), shown in zip(COSTS, told["times"], strict=True):
            times = simulate(schedule, work.costs(schedule, send))
            for order, starts, ends, row in zip(schedule, times.starts, times.ends, unfolded(told, shown), strict=True):
                assert [action for action, _, _ in row] == list(order)
                assert [start for _, start, _ in row] == pytest.approx(starts, abs=1e-9)
                assert [end for _, _, end in row] == pytest.approx(ends, abs=1e-9)


def test_the_figures_are_those_of_the_functions(explorer):
    for setting in explorer.settings:
        told = explorer.plans[str(setting)]
        if "refused" in told:
            continue
        schedule = make(*setting)
        share = schedule.ranks / schedule.stages
        assert told["peaks"] == pytest.approx([peak * share for peak in activations(schedule)], abs=1e-6)
        assert told["peak"] == pytest.approx(max(told["peaks"]), abs=1e-6) or "exact for" in told["peak"]
        assert told["versions"] == kept_versions(schedule)
        for (work, send), shown in zip(COSTS, told["times"], strict=True):
            times = simulate(schedule, work.costs(schedule, send))
            assert shown["bubble"] == pytest.approx(times.bubble, abs=1e-6)
            assert shown["formula"] == pytest.approx(times.bubble, abs=2e-6) or "exact for" in shown["formula"]
            assert shown["spans"] == pytest.approx(times.bubble_of_spans, abs=1e-6)
            assert shown["makespan"] * TICK == pytest.approx(times.makespan)


def test_1f1b_on_four_ranks_as_everyone_knows_it():
    told = page_data(ExplorerSetting("1F1B", 4, 8, 1))
    assert told["order"][0] == "AAAABABABABABBBBE" and told["order"][3] == "AB" * 8 + "E"  # A: F, B: B, E: S
    assert told["peaks"] == [4, 3, 2, 1] and told["versions"] == [1] * 4 and told["share"] == 1
    even = told["times"][0]
    assert even["makespan"] * TICK == 33 and even["bubble"] == pytest.approx(3 / 11, abs=1e-6)
    assert (even["idle"], even["formula"]) == (9, 0.272727)
    waits = [[even["values"][LETTERS.index(each)] * TICK for each in row.replace(".", "")] for row in even["waits"]]
    assert waits == [[6, 1, 1, 1], [1, 4, 1, 1], [2, 2, 1], [3]]  # rank 3 waits once, for its first F


def test_every_schedule_of_the_catalogue_can_be_chosen_and_says_why_if_not(explorer):
    assert explorer.names == list(SCHEDULES) and {setting.name for setting in explorer.settings} == set(SCHEDULES)
    for setting in explorer.settings:
        told = explorer.plans[str(setting)]
        if "refused" in told:
            with pytest.raises(ValueError) as error:
                make(*setting)
            assert told == {"refused": str(error.value)} and len(told["refused"]) > 20
    assert "refused" in explorer.plans["DualPipe.4.1.2"]


@pytest.mark.parametrize("name", ["GPipe", "ZB-H1", "ZB-V", "DualPipe"])
def test_what_the_page_says_an_action_waits_for_is_what_it_needs(name):
    schedule, table = make(name, 4, 8), needed()
    for action in schedule.places:
        found = [Action(kind, action.stage + apart, action.micro) for kind, apart in table[action.kind]]
        assert sorted(found := [each for each in found if each in schedule.places]) == sorted(needs(action, schedule))


def test_costs_are_those_of_a_ranks_whole_share_however_it_is_cut():
    for name, v in (("1F1B", 1), ("interleaved 1F1B", 3), ("ZB-V", 2), ("DualPipe", 2)):
        schedule, share = make(name, 4, 8, v), 4 / make(name, 4, 8, v).stages
        costs = PASS_SECONDS["1:2:1"].costs(schedule, 0.25)
        assert costs == Costs(
            [share] * schedule.stages, [2 * share] * schedule.stages, [share] * schedule.stages, send=0.25
        )
        uneven = PASS_SECONDS["1:1:1, last stage x 1.5"].costs(schedule, 0.0)
        assert [x - share for x in uneven.F] == pytest.approx([0] * (schedule.stages - 1) + [0.5])


def test_times_are_whole_ticks_or_refused():
    assert ticks(0) == 0 and ticks(1 / 3) == 8 and ticks(100 + 1 / 8) == 2403
    with pytest.raises(ValueError, match=r"0.2 s is no multiple of 0.0416\d* s"):
        ticks(0.2)


def test_the_page_fetches_nothing_and_says_something_without_javascript(html):
    assert html.count("<script") == 2 and html.count("</script>") == 2
    words = re.sub(r'"packed":"[^"]*"', "", html).replace("// ", "")
    assert not re.search(r"https?:|//\w|\bsrc=|@import|url\((?!#)|\bfetch\b|\bimport\b", words)
    instead = html[: html.index("<script")]
    assert "needs JavaScript" in instead and "<td>1F1B</td><td>33</td><td>27.3%</td><td>4</td>" in instead
    assert re.search(r"<pre>F0 +F1 +F2 +F3 ", instead)


def test_the_same_page_every_time_and_words_that_change_with_it(explorer, html, monkeypatch):
    assert Explorer(ranks=(2, 4), micro_batches=(1, 4, 8), chunks=(2, 3))._repr_html_() == html
    said = repr(explorer)
    assert re.fullmatch(
        r"explorer of \d+ schedules in \d+ sizes, each with 8 costs; \d+ sizes .* \(page [0-9a-f]{8}\)", said
    )
    monkeypatch.setattr("reference.pages.explorer.PASS_COLOURS", {})
    assert repr(explorer) != said and repr(explorer)[:-14] == said[:-14]


def test_the_links_of_the_page_lead_to_settings_that_there_are():
    notebook = (Path(__file__).parents[2] / "chapters/pipeline_explorer.ipynb").read_text(encoding="utf-8")
    text = "".join("".join(cell["source"]) for cell in json.loads(notebook)["cells"])
    links = [dict(parse_qsl(unescape(link))) for link in re.findall(r'href="#(explore=[^"]+)"', text)]
    settings = {str(setting): setting for setting in Explorer().settings}
    assert len(links) >= 5
    for link in links:
        assert link.get("work", "1:1:1") in PASS_SECONDS and float(link.get("send", 0)) in MESSAGE_SECONDS
        for key in (link["explore"], link.get("with", link["explore"])):
            make(*settings[key])


def test_an_action_with_all_its_times_takes_few_bytes(explorer, html):
    actions = sum(len(order) for told in explorer.plans.values() for order in told.get("order", ()))
    assert len(embedded(html)["packed"]) < 5 * actions  # eight simulations


# What the page asks Python for --------------------------------------------------------------------------------------


def question(**given) -> dict:
    """What a worker of the page answers to the explorer (live.py), for 1F1B of the usual size unless told otherwise."""
    usual = {"name": "1F1B", "p": 4, "m": 8, "v": 1, "seconds": [1, 1, 1, 0], "send": 0}
    return json.loads(answer(json.dumps({"call": "reference.pages.plans.worked_out", "given": usual | given})))


@pytest.mark.parametrize("name, v", [("1F1B", 1), ("interleaved 1F1B", 3), ("ZB-V", 2), ("DualPipe", 2)])
def test_what_is_worked_out_is_what_is_stored(name, v):
    stored = page_data(ExplorerSetting(name, 4, 8, v))
    for (work, send), times in zip(COSTS, stored["times"], strict=True):
        told = worked_out(name, 4, 8, v, work[1:], send)
        assert {key: told[key] for key in ("share", "stages", "peaks", "versions", "peak")} == {
            key: stored[key] for key in ("share", "stages", "peaks", "versions", "peak")
        }
        assert told["makespan"] == pytest.approx(times["makespan"])
        assert [told[key] for key in ("bubble", "spans", "idle", "formula")] == [
            times[key] for key in ("bubble", "spans", "idle", "formula")
        ]
        for row, packed in zip(told["ranks"], unfolded(stored, times), strict=True):
            assert [Action(kind, stage, micro) for kind, stage, _, micro, *_ in row] == [each for each, *_ in packed]
            assert [each[4] * TICK for each in row] == pytest.approx([start for _, start, _ in packed])
            assert [each[5] * TICK for each in row] == pytest.approx([end for *_, end in packed])
    sides = {
        k: each[6] for row, pairs in zip(told["ranks"], stored["overlapped"]) for k, each in enumerate(row) if pairs
    }
    assert (1 in sides.values() and 2 in sides.values()) == (name == "DualPipe")


def test_numbers_that_no_list_has():
    told = question(p=5, m=7, seconds=[0.3, 0.4, 0.1, 0.2], send=0.07)["value"]
    schedule = make("1F1B", 5, 7)
    times = simulate(schedule, Costs([0.3] * 4 + [0.36], [0.4] * 4 + [0.48], [0.1] * 4 + [0.12], send=0.07))
    assert told["makespan"] * TICK == pytest.approx(times.makespan)
    assert told["bubble"] == pytest.approx(times.bubble, abs=1e-6)
    assert told["peaks"] == [5, 4, 3, 2, 1]


@pytest.mark.parametrize(
    "given, said",
    [
        ({"p": LIMITS["p"] + 1}, "p is a whole number from 1 to 64, got 65"),
        ({"m": 0}, "m is a whole number from 1 to 512, got 0"),
        ({"p": 2.5}, "p is a whole number from 1 to 64, got 2.5"),
        ({"v": 9}, "v is a whole number from 1 to 8, got 9"),
        ({"p": 64, "m": 33}, "p m v = 2,112 forward passes are more than the 2,048 that are worked out in a page"),
        ({"seconds": [0, 0, 0, 1]}, "one of F, I, W is more: got 0, 0, 0, 1, a message 0"),
        ({"seconds": [1, -1, 1, 0]}, "seconds are numbers from 0 on"),
        ({"send": float("nan")}, "a message nan"),
        ({"name": "DualPipe", "m": 3, "v": 2}, "DualPipe for p = 4, m = 3: both must be even"),
    ],
)
def test_numbers_that_make_no_schedule_are_refused_in_words(given, said):
    assert said in question(**given)["refused"]


def test_a_fault_of_ours_is_not_told_as_the_readers():
    assert "there is no schedule 'ZB-X'" in question(name="ZB-X").get("refused", "")
    with pytest.raises(TypeError):
        question(seconds=3)
