"""What is published comes out of the simulator, to the last digit where it can; where it does not, the reason does."""

import pytest

import reference.pipeline.schedule as schedules
from reference.pipeline.analysis import published
from reference.pipeline.analysis.formulas import idle_in_span
from reference.pipeline.analysis.published import (
    OURS,
    Deviation,
    as_their_script,
    bubble_rate,
    read_rows,
    row_costs,
    step_span,
)
from reference.pipeline.schedules.dual_pipe import dual_pipe
from reference.pipeline.schedules.search import find_schedule, longest_span
from reference.pipeline.simulate import Costs, simulate

ROWS = read_rows("zero_bubble")
DIGITS = 0.5e-4 * 1.01  # rates are printed with four digits


def test_all_data_say_where_they_are_from():
    for name in ("zero_bubble", "megatron", "korthikanti", "dual_pipe"):
        text = (published.files(published.__package__) / "data" / f"{name}.csv").read_text()
        assert text.startswith("# ") and "20" in text.splitlines()[0]
    assert len(ROWS) == 12 and ROWS[0]["send"] == 0.601 and ROWS[0]["layers"] // ROWS[0]["p"] == 3


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['model']}-{row['m']}")
def test_bubble_rates_of_the_zero_bubble_paper(row):
    """By the closed forms (which test_formulas.py proves); of the smaller cases by the simulator too."""
    for name in ("1F1B", "ZB-H1", "ZB-H2", "ZB-1p"):
        lost = idle_in_span(OURS[name], row["p"], row["m"], 1, row_costs(row))
        assert bubble_rate(row, lost + row["m"] * (row["F"] + row["I"] + row["W"])) == pytest.approx(
            row[name], abs=DIGITS
        )
        if row["m"] == 24:
            assert bubble_rate(row, step_span(row, name)) == pytest.approx(row[name], abs=DIGITS)
    assert as_their_script(row) == pytest.approx(row["1F1B-I"], abs=DIGITS)


def test_why_the_interleaved_rates_are_too_low(monkeypatch):
    """Only the first micro-batch of a group waits for the message around: then the published rate comes out."""
    row, needs = ROWS[0], schedules.needs
    honest = Deviation("", "1F1B-I", row["1F1B-I"], bubble_rate(row, step_span(row, "1F1B-I")))
    assert honest.off == pytest.approx(0.033, abs=1e-3)

    def forgetful(action, schedule):
        p, around = schedule.ranks, {"F": action.stage - 1, "B": action.stage + 1}[action.kind]
        comes_round = {action.stage % p, around % p} == {0, p - 1} and 0 <= around < schedule.stages
        skips = comes_round and action.micro % p
        return [n for n in needs(action, schedule) if not (skips and n.stage == around)]

    monkeypatch.setattr(schedules, "needs", lambda a, s: [] if a.kind == "S" else forgetful(a, s))
    assert bubble_rate(row, step_span(row, "1F1B-I")) == pytest.approx(row["1F1B-I"], abs=DIGITS)


def test_only_h2_depends_on_what_a_step_is():
    row = ROWS[3]
    for name in ("1F1B", "ZB-H1", "ZB-H2"):
        times = simulate(published.make(OURS[name], row["p"], row["m"]), row_costs(row))
        assert (times.makespan > max(times.spans) + 1e-6) == (name == "ZB-H2")
    assert bubble_rate(row, times.makespan) == pytest.approx(0.1003, abs=DIGITS)  # published: 0.0698


def test_the_search_finds_no_more_in_little_memory():
    row = ROWS[0]
    kept = 32 * row["hidden"] / (34 * row["hidden"] + 5 * row["heads"] * 1024)  # of an activation, what W needs
    found = find_schedule(8, 24, row_costs(row), memory=8, kept=kept, measure=longest_span)
    assert bubble_rate(row, longest_span(simulate(found, row_costs(row)))) == pytest.approx(row["ZB-1p"], abs=DIGITS)


def test_rates_of_some_rows():
    rows = [row for row in ROWS if row["p"] <= 16 and row["m"] <= 24]
    found = published.zero_bubble("1F1B", "ZB-H1", rows=rows)
    assert [(r.what, r.schedule) for r in found[:2]] == [("1.5B p=8 m=24", "1F1B"), ("1.5B p=8 m=24", "ZB-H1")]
    assert len(found) == 2 * len(rows) == 4 and all(abs(r.ours - r.published) <= DIGITS for r in found)
    assert published.zero_bubble(rows=[]) == []


def test_figures_that_no_rule_gives():
    with pytest.raises(ValueError, match="'ZB-2p' is none of 1F1B, 1F1B-I, ZB-H1, ZB-H2, ZB-1p "):
        published.zero_bubble("1F1B", "ZB-2p")
    for name in ("ZB-2p", "ZB-H1"):
        with pytest.raises(ValueError, match=f"'{name}' is none of 1F1B, 1F1B-I, ZB-1p "):
            published.throughput(name)


def test_measured_throughput_is_below_what_rates_promise():
    rows = [row for row in ROWS if row["m"] in (24, 48)]
    off = {(r.what.split()[0], r.schedule): round(r.off, 2) for r in published.throughput("1F1B", "1F1B-I", rows=rows)}
    assert off == {
        ("1.5B", "1F1B"): 0.05,
        ("1.5B", "1F1B-I"): 0.11,
        ("6.2B", "1F1B"): 0.04,
        ("6.2B", "1F1B-I"): 0.08,
        ("14.6B", "1F1B"): 0.08,
        ("14.6B", "1F1B-I"): 0.17,
    }


def test_megatron_without_interleaving_is_the_bubble():
    assert max(abs(residual.off) for residual in published.plain_megatron()) < 0.02


def test_korthikantis_memory_is_what_is_counted():
    assert [round(r.ours / r.published, 9) for r in published.interleaved_memory()] == [1.0, 1.0]


def test_the_readme_of_dual_pipe():
    """Exact if F = I >= W; an eighth too high with I = 1.5 F, a quarter too low with W = 1.5 F."""
    for stage in (Costs(), Costs(W=0.5), Costs(F=2, I=2, W=1, pair=4)):
        times = simulate(dual_pipe(8, 20), stage)
        assert times.makespan - min(times.busy) == pytest.approx(published.dual_pipe(8, stage)["DualPipe"])
        assert published.dual_pipe(8, stage)["ZB1P"] == pytest.approx(idle_in_span("ZB-H1", 8, 20, costs=stage))
    for stage, found in ((Costs(I=1.5), (8.0, 9.0)), (Costs(W=1.5), (6.0, 4.5))):
        times = simulate(dual_pipe(8, 20), stage)
        assert (times.makespan - times.busy[0], published.dual_pipe(8, stage)["DualPipe"]) == found
