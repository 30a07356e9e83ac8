"""Pictures of schedules, as text and as figures: what they show is what there is."""

import json

import matplotlib
import numpy as np
import pytest

from reference.pipeline.analysis.draw import PASS_COLOURS, bars, draw, gantt, picture, table, timeline
from reference.pipeline.schedule import Schedule, parse, repeat
from reference.pipeline.schedules import catalogue
from reference.pipeline.schedules.plain import gpipe, one_f_one_b, pipedream
from reference.pipeline.simulate import UNIT, Costs, Times, simulate

matplotlib.use("agg")
PAIR = Schedule("pair", (parse("0F0 0F1 0B0 0B1"),), overlapped=(frozenset({1}),))
V_SHAPE = Schedule("V", (parse("0F0 3F0 3I0 0B0 3W0"), parse("1F0 2F0 2B0 1B0")))


def test_a_stage_is_named_only_where_a_rank_has_several():
    assert picture(one_f_one_b(2, 2)) == ["F0 F1 B0 B1", "F0 B0 F1 B1"]
    assert picture(V_SHAPE) == ["0F0 3F0 3I0 0B0 3W0", "1F0 2F0 2B0 1B0"]
    assert picture(PAIR) == ["F0 F1+B0 B1"]


def test_steps_that_end_a_flush_are_left_out_and_others_are_not():
    assert picture(repeat(gpipe(1, 2), 2)) == ["F0 F1 B1 B0 S1 F2 F3 B3 B2"]
    assert picture(pipedream(1, 2)) == ["F0 B0 S0 F1 B1 S1"]
    assert picture(Schedule("too early", (parse("0F0 0S0 0B0"),))) == ["F0 S0 B0"]
    assert picture(Schedule("nothing", ((),))) == [""]


def test_a_chart_has_a_column_for_each_unit_of_time():
    assert gantt(simulate(V_SHAPE, Costs(B=2, W=3))) == [
        "0F0 ... ... 3F0 3I0 ... ... ... ... 0B0---- 3W0--------",
        "... 1F0 2F0 ... ... 2B0---- 1B0---- ... ... ... ... ...",
    ]
    assert gantt(simulate(PAIR, Costs(pair=2))) == ["F0 F1+B0 B1---"]
    assert gantt(simulate(one_f_one_b(2, 1), Costs(S=1))) == ["F0 .. .. .. B0--- S0", ".. F0 B0--- S0 .. .."]


def test_a_chart_of_times_that_do_not_fit_the_columns():
    """Recorded, say: rounded to columns of half a second; what is shorter than a quarter of one is not seen."""
    starts = [[10, 12.1, 12.6, 14.4, 15.6], [10.6, 11.2, 13.1, 13.9]]
    times = Times(V_SHAPE, starts, [[10.6, 12.6, 13.1, 15.6, 15.7], [11.1, 11.9, 13.9, 14.3]])
    assert gantt(times, unit=0.5) == [
        "0F0 ... ... ... 3F0 3I0 ... ... ... 0B0----",
        "... 1F0 2F0---- ... ... 2B0---- 1B0 ... ...",
    ]


def test_a_chart_of_an_action_that_is_much_too_short_is_not_too_long():
    order = Schedule("short", (parse("0F0 0B0 0S0"),))
    assert len(gantt(simulate(order, Costs(S=1e-9)))[0]) < 4000


def drawn(times: Times) -> tuple[list, list, list]:
    """Bars (x, width, y, height; the grey ones that show what is idle left out), numbers and legend of the figure."""
    ax = draw(times, title="a schedule")
    found = sorted((b.get_x(), b.get_width(), b.get_y(), b.get_height()) for b in ax.patches[times.schedule.ranks :])
    texts = [text.get_text() for text in ax.texts]
    legend = [text.get_text() for text in ax.get_legend().texts] if ax.get_legend() else []
    assert ax.get_title(loc="left") == "a schedule" and ax.get_ylim()[0] > ax.get_ylim()[1]
    matplotlib.pyplot.close(ax.figure)
    return found, texts, legend


@pytest.mark.parametrize("name", ["1F1B", "ZB-V", "DualPipe"])
def test_the_figure_has_a_bar_for_every_action(name):
    schedule = catalogue.make(name, 4, 8 if name == "DualPipe" else 4)
    times = simulate(schedule, UNIT.chunked(max(schedule.stages // 4, 1)))
    shown, texts, legend = drawn(times)
    assert np.allclose(shown, sorted((b.start, b.end - b.start, b.bottom, b.height) for b in bars(times)))
    seconds = sum(end - start for own in zip(times.starts, times.ends) for start, end in zip(*own))
    assert sum(width for _, width, _, _ in shown) == pytest.approx(seconds)
    actions = [action for order in schedule for action in order if action.kind != "S"]  # S takes no time
    assert sorted(texts) == sorted(str(action.micro) for action in actions)
    assert len(legend) == len({a.kind for a in actions}) + (max(map(len, schedule.chunks)) > 1)


def test_kinds_and_chunks_look_different():
    """No two of them have the same colour; W is lower than what it could be taken for."""
    ax = draw(simulate(V_SHAPE))
    looks = {(tuple(round(c, 3) for c in b.get_facecolor()), round(b.get_height(), 3)) for b in ax.patches[2:]}
    assert len(looks) == len({(bar.kind, bar.chunk) for bar in bars(simulate(V_SHAPE))}) == 6
    assert len(set(PASS_COLOURS.values())) == 5
    matplotlib.pyplot.close(ax.figure)
    low = {bar.kind: bar.height for bar in bars(simulate(V_SHAPE))}
    assert low["W"] < low["I"] == low["F"]


def test_pairs_share_the_height_of_a_rank():
    first, forward, backward, last = bars(simulate(PAIR, Costs(pair=2)))
    assert (forward.start, forward.end) == (backward.start, backward.end)
    assert forward.bottom + forward.height == backward.bottom
    assert forward.height + backward.height == first.height == last.height


def test_numbers_are_left_out_where_there_is_no_room():
    _, texts, _ = drawn(simulate(one_f_one_b(2, 60)))
    assert not texts


def test_recorded_times_and_no_times_draw_too():
    late = [[1000.25, 1003.5], [1001.125, 1002.0]]
    times = Times(
        one_f_one_b(2, 1), [[*own, own[-1]] for own in late], [[1001.0, 1004.0, 1004.0], [1002.0, 1003.25, 1002]]
    )
    shown, _, _ = drawn(times)
    assert shown[0][0] == 0 and shown[-1][:2] == (3.25, 0.5)
    free = simulate(gpipe(2, 1), Costs(0, 0, 0))
    assert drawn(free) == ([], [], []) and gantt(free) == ["", ""]


def test_the_table_of_ranks():
    rows = table(simulate(one_f_one_b(3, 4)))
    assert [row.stages for row in rows] == [[0], [1], [2]] and [row.activations for row in rows] == [3, 2, 1]
    assert [(row.busy, row.idle, row.bubble) for row in rows] == [(12, 6, pytest.approx(1 / 3))] * 3
    assert [row.versions for row in table(simulate(pipedream(3, 8)))] == [3, 2, 1]
    assert [row.bubble for row in table(simulate(gpipe(1, 1), Costs(0, 0, 0)))] == [0]


def test_perfetto_gets_every_action_and_the_messages_between_them():
    times = simulate(one_f_one_b(2, 3), Costs(send=0.5))
    events = timeline(times)
    assert events.seconds == times.makespan and events.ranks == 2
    assert [events.busy(r, "compute") for r in range(2)] == times.busy
    assert [event.label for event in events.of(rank=1)] == "1F0 1B0 1F1 1B1 1F2 1B2 1S2".split()
    with_messages = timeline(times, send=0.5)
    assert len(with_messages.of(kind="send")) == len(with_messages.of(kind="recv")) == 6
    arrival = {event.label: event.end for event in with_messages.of(rank=1, kind="recv")}
    assert arrival["the activation of 0F1"] == 2.5  # 0F1 ends at 2 s
    rows = json.loads(with_messages.to_perfetto())["traceEvents"]
    assert sum(row["ph"] == "s" for row in rows) == 6 and {"2F0", "0F0"} & {row["name"] for row in rows} == {"0F0"}


def test_the_legend_names_what_can_be_seen():
    """Chunks in the colour of forward passes, which are in the figure; updates only if they are as wide as a point."""
    times = simulate(catalogue.make("interleaved 1F1B", 2, 4, 5), Costs(S=0.001))
    chunks = [f"forward, {which}" for which in ("second chunk", "third chunk", "later chunks")]
    assert drawn(times)[2] == ["forward", "backward", *chunks]
    assert drawn(simulate(one_f_one_b(2, 2), Costs(S=0.001)))[2] == ["forward", "backward"]
    assert drawn(simulate(one_f_one_b(2, 2), Costs(S=1)))[2] == ["forward", "backward", "optimizer step"]
