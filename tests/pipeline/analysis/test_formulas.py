"""Closed forms are theorems: equal to what is simulated, wherever they say that they hold."""

import math
import re
import sys
from contextlib import suppress

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from reference.pipeline.analysis.formulas import (
    boundaries,
    bubble,
    efficiency,
    fewest_micro_batches,
    gpipe_makespan,
    idle,
    idle_in_span,
    most_versions,
    peaks,
)
from reference.pipeline.analysis.versions import kept_versions
from reference.pipeline.messages import messages
from reference.pipeline.schedules import SCHEDULES, make
from reference.pipeline.schedules.interleaved import interleaved
from reference.pipeline.schedules.plain import gpipe, one_f_one_b
from reference.pipeline.schedules.record import NoClosedForm
from reference.pipeline.simulate import UNIT, Costs, activations, simulate

eighths = st.integers(6, 12).map(lambda n: n / 8)  # sums of these are exact; none is more than twice another
theorem = settings(suppress_health_check=list(HealthCheck))


@st.composite
def schedules(draw, name):
    """p, m, the schedule, and into how many chunks a rank's share is cut."""
    p, v = draw(st.integers(1, 6)), draw(st.integers(1, 3)) if SCHEDULES[name].chunks is None else None
    m = draw(
        st.one_of(
            st.integers(1, 16), st.integers(1, 3).map(lambda k: k * p), st.integers(0, 4).map(lambda k: 2 * p + k)
        )
    )
    assume(not SCHEDULES[name].refuses(p, m))
    schedule = make(name, p, m, v)
    return p, m, schedule, schedule.stages // p


@st.composite
def prices(draw):
    F, I, W = draw(st.sampled_from([(1.0, 1.0, 1.0), (draw(eighths), draw(eighths), draw(eighths))]))  # noqa: E741
    c, S = draw(st.sampled_from([(0.0, 0.0), (0.0, 0.5), (1 / 16, 0.0), (1 / 4, 0.0)]))
    pair = draw(st.sampled_from([None, max(F, I + W) + 1 / 8]))
    return Costs(F=F, I=I, W=W, S=S, send=c, pair=pair)


def longest_idle(times):
    return times.makespan - min(times.busy)


@pytest.mark.parametrize("name", SCHEDULES)
@theorem
@given(data=st.data())
def test_idle_time(name, data):
    p, m, schedule, v = data.draw(schedules(name))
    costs = data.draw(prices())
    if not schedule.overlapped:
        costs = costs._replace(pair=None)
    times = simulate(schedule, costs.chunked(v))
    with suppress(NoClosedForm):
        assert idle(name, p, m, v, costs) == pytest.approx(longest_idle(times), abs=1e-9)
        assert idle_in_span(name, p, m, v, costs) == pytest.approx(max(times.spans) - min(times.busy), abs=1e-9)
    with suppress(NoClosedForm):
        assert bubble(name, p, m, v, costs._replace(S=0)) == pytest.approx(
            simulate(schedule, costs._replace(S=0).chunked(v)).bubble, abs=1e-9
        )


@pytest.mark.parametrize("name", SCHEDULES)
@theorem
@given(data=st.data())
def test_what_is_kept_and_sent(name, data):
    p, m, schedule, v = data.draw(schedules(name))
    with suppress(NoClosedForm):
        assert peaks(name, p, m, v) == pytest.approx([kept / v for kept in activations(schedule)])
    with suppress(NoClosedForm):
        assert most_versions(name, p, m) == kept_versions(schedule)
    sent = sum(len(exchange.sends) for rank in messages(schedule) for exchange in rank)
    assert sent == 2 * m * boundaries(name, p, v)
    places = {(s, r) for r, chunks in enumerate(schedule.chunks) for s in chunks}
    assert len(places) == schedule.stages * SCHEDULES[name].placement.copies


# What is there to be read


def read(text, known):
    """What a text of a record says, with these letters: a number, or whether a condition holds."""
    text = text.replace(" mod ", " % ")
    text = re.sub(r"(?<=\d)(?=[A-Za-z(])|(?<=\))(?=\()|(?<=\)) (?=[\w(])|(?<=\w) (?=[A-Za-z(])", "*", text)
    return eval(re.sub(r"(?<![<>!])=", "==", text), {"__builtins__": {}}, known)


def holds(form, known):
    """Whether all conditions of its text hold."""
    return all(read(condition, known) for condition in form.where.split(", ") if condition)


def letters(p, m, v, costs):
    """What they stand for."""
    seconds = {kind: costs.of(kind, 0) for kind in "FIWB"} | {"FB": costs.of("pair", 0)}
    return {"p": p, "m": m, "v": v, "min": min, "floor": math.floor} | seconds


@pytest.mark.parametrize("name", SCHEDULES)
@theorem
@given(data=st.data())
def test_the_texts_say_what_is_so(name, data):
    p, m, schedule, v = data.draw(schedules(name))
    costs, record = data.draw(prices())._replace(send=0.0, S=0.0), SCHEDULES[name]
    if not schedule.overlapped:
        costs = costs._replace(pair=None)
    times, known = simulate(schedule, costs.chunked(v)), letters(p, m, v, costs)
    if holds(record.idle, known):
        assert read(record.idle.text, known) == pytest.approx(longest_idle(times), abs=1e-9)
    if holds(record.span, known):
        by_span = max(times.spans) - min(times.busy)
        assert read(record.span.text, known) == pytest.approx(by_span, abs=1e-9)
    kept = [peak / v for peak in activations(schedule)]
    for form, of_ranks in ((record.peaks, kept), (record.versions, kept_versions(schedule))):
        if holds(form, known):
            assert [read(form.text, known | {"r": r}) for r in range(p)] == pytest.approx(of_ranks)


@pytest.mark.parametrize("name", SCHEDULES)
def test_there_is_a_case_in_which_all_texts_hold(name):
    record, known = SCHEDULES[name], letters(4, 16, 2, UNIT)
    assert all(holds(form, known) for form in (record.idle, record.span, record.peaks, record.versions))


# Theorems about some of them


@pytest.mark.parametrize("lead", [1, 2])
@theorem
@given(data=st.data(), p=st.integers(1, 6), v=st.integers(1, 3), m=st.integers(1, 24), more=st.integers(0, 4))
def test_interleaved_with_any_lead_and_groups(lead, data, p, v, m, more):
    costs, options = data.draw(prices())._replace(pair=None), {"lead": lead, "group": p + more}
    schedule = interleaved(p, m, v, **options)
    assert peaks("interleaved 1F1B", p, m, v, **options) == pytest.approx([n / v for n in activations(schedule)])
    with suppress(NoClosedForm):
        expected = idle("interleaved 1F1B", p, m, v, costs, **options)
        assert longest_idle(simulate(schedule, costs.chunked(v))) == pytest.approx(expected, abs=1e-9)


INSIDE = [  # name, p, m, v, costs, and others that break one condition each, so that the form would be wrong
    ("interleaved 1F1B", 3, 7, 2, Costs(send=0.5), [(3, 7, 2, Costs(send=1.1)), (3, 6, 2, Costs(I=3, send=0.9))]),
    ("ZB-H1", 3, 4, 1, Costs(send=0.5), [(3, 2, 1, UNIT), (3, 3, 1, Costs(send=0.5)), (3, 6, 1, Costs(send=0.6))]),
    ("ZB-H2", 3, 5, 1, Costs(send=0.5), [(3, 2, 1, UNIT), (3, 6, 1, Costs(send=1.5))]),
    ("ZB-V", 3, 6, 1, Costs(I=2), [(3, 2, 1, UNIT), (3, 6, 1, Costs(send=0.5)), (3, 6, 1, Costs(I=3))]),
    ("ZB-V", 3, 6, 1, Costs(F=2), []),
    ("ZB-V", 3, 6, 1, Costs(W=2), []),
    ("V-Half", 3, 3, 1, UNIT, [(3, 1, 1, UNIT), (3, 3, 1, Costs(I=2)), (3, 3, 1, Costs(send=0.5))]),
    ("V-Min", 3, 3, 1, UNIT, [(3, 3, 1, Costs(I=2)), (3, 3, 1, Costs(send=0.5))]),
    ("DualPipe", 4, 8, 1, Costs(pair=2.5), [(4, 8, 1, Costs(pair=1.5)), (4, 8, 1, Costs(send=0.5))]),
    ("PipeDream", 3, 6, 1, Costs(S=1), [(3, 6, 1, Costs(S=1, send=0.5))]),
]


@pytest.mark.parametrize(("name", "p", "m", "v", "costs", "outside"), INSIDE)
def test_the_regions_are_no_wider_than_they_must_be(monkeypatch, name, p, m, v, costs, outside):
    def error(p, m, v, costs):
        schedule = make(name, p, m, v if SCHEDULES[name].chunks is None else None)
        times = simulate(schedule, costs.chunked(schedule.stages // p))
        return abs(idle(name, p, m, v, costs) - longest_idle(times))

    assert error(p, m, v, costs) < 1e-9
    for case in outside:
        with pytest.raises(NoClosedForm, match="exact for"):
            idle(name, *case)
    module = sys.modules[SCHEDULES[name].idle.value.__module__]
    monkeypatch.setattr(module, "require", lambda holds, region: None)
    assert all(error(*case) > 0.01 for case in outside)


def test_1f1b_pays_more_for_messages_than_gpipe():
    """The same bubble without messages; with them 2(p - 1)c of GPipe, and of 1F1B as much for every p micro-batches."""
    costs = Costs(send=0.1)
    for p, m in [(4, 16), (8, 64)]:
        assert idle("1F1B", p, m) == idle("GPipe", p, m) == 3 * (p - 1)
        assert idle("GPipe", p, m, costs=costs) == pytest.approx(3 * (p - 1) + 2 * (p - 1) * 0.1)
        assert idle("1F1B", p, m + p, costs=costs) - idle("1F1B", p, m, costs=costs) == pytest.approx(2 * (p - 1) * 0.1)
    eager = idle("interleaved 1F1B", 8, 64, 1, costs, lead=2)
    assert eager == pytest.approx(idle("GPipe", 8, 64, costs=costs))
    assert peaks("interleaved 1F1B", 8, 64, 1, lead=2)[0] == 2 * 8 - 1


@theorem
@given(data=st.data(), p=st.integers(1, 6), m=st.integers(1, 12))
def test_stages_of_unequal_cost(data, p, m):
    F, B = (data.draw(st.lists(eighths, min_size=p, max_size=p)) for _ in "FB")
    costs = Costs(F=F, B=B)
    found = gpipe_makespan(p, m, costs)
    assert simulate(gpipe(p, m), costs).makespan == pytest.approx(found)
    assert simulate(one_f_one_b(p, m), costs).makespan <= found + 1e-9
    with pytest.raises(NoClosedForm):
        idle("GPipe", p, m, costs=costs)


def test_interleaving_costs_more_than_v_times_the_messages():
    assert [boundaries("interleaved 1F1B", p, v) for p, v in ((4, 1), (4, 2), (8, 4))] == [3, 7, 31]  # 2.33, 4.43 times
    wrap = [e for e in messages(interleaved(4, 4, 2))[3] for m in e.sends if m.kind == "activation" and m.peer == 0]
    assert len(wrap) == 4


def test_four_micro_batches_a_rank():
    """m >= 4p is enough for a bubble below a fifth, a little more than enough: 4(p - 1). v chunks: a v-th of that."""
    assert all(
        bubble("1F1B", p, 4 * p) == pytest.approx((p - 1) / (5 * p - 1)) and (p - 1) / (5 * p - 1) < 0.2
        for p in range(1, 99)
    )
    assert [fewest_micro_batches(p, 0.2) for p in (1, 2, 8, 64)] == [1, 4, 28, 252]
    assert [fewest_micro_batches(8, 0.2, v) for v in (1, 2, 4)] == [28, 14, 8]
    for p, share, v in [(5, 0.13, 1), (8, 0.07, 3), (12, 0.5, 2)]:
        m = fewest_micro_batches(p, share, v)
        assert 1 - efficiency(p, m, v) <= share + 1e-9 < 1 - efficiency(p, m - 1, v) or m == p
    assert bubble("1F1B", 8, 32, costs=Costs(send=0.5)) > 0.2, "the rule knows nothing of messages"
    with pytest.raises(ValueError, match="between 0 and 1"):
        fewest_micro_batches(4, 1.0)


@pytest.mark.parametrize(
    ("setting", "options", "why"),
    [
        (("DualPipe", 3, 8), {}, "both must be even"),
        (("DualPipe", 4, 4), {}, "at least 2p = 8"),
        (("DualPipeV", 4, 2), {}, "at least 2p = 8"),
        (("depth first", 4, 5, 2), {}, "multiple of p"),
        (("depth first", 4, 8, 2), {"lead": 1}, "lead can be chosen for interleaved 1F1B only"),
        (("interleaved 1F1B", 4, 8, 2), {"lead": 3}, "lead = 3 must be 1 or 2"),
        (("interleaved 1F1B", 4, 8, 2), {"group": 2}, "group = 2 must be at least p = 4"),
        (("1F1B", 4, 8, 3), {}, r"a rank has 1 stage, not 3: take 1"),
        (("ZB-V", 4, 8, 3), {}, r"a rank has 2 stages, not 3: take 2"),
    ],
)
def test_what_does_not_exist_has_no_form_either(setting, options, why):
    for function in (idle, bubble, peaks):
        with pytest.raises(NoClosedForm, match=why):
            function(*setting, **options)
    if not options:
        with pytest.raises(NoClosedForm, match=why):
            idle_in_span(*setting)


def test_neither_has_it_messages_or_versions():
    for name, p, v in (("1F1B", 4, 2), ("DualPipe", 3, 1)):
        with pytest.raises(NoClosedForm, match=f"{name} for p = {p}"):
            boundaries(name, p, v)
    with pytest.raises(NoClosedForm, match="multiple of p"):
        most_versions("depth first", 4, 5)


def test_names_may_be_spelt_in_any_way():
    assert idle("gpipe", 4, 8) == idle("GPipe", 4, 8) and most_versions("interleaved-1f1b", 4, 8) == [1] * 4


def test_what_has_no_form():
    with pytest.raises(ValueError, match="there is no schedule 'ZB-3p'; choose from naive, GPipe"):
        idle("ZB-3p", 4, 8)
    with pytest.raises(ValueError, match="m \\(micro-batches\\)"):
        idle("1F1B", 4, 0)
