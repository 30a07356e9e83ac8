"""Whatever the catalogue offers is a schedule; what it refuses, it refuses with the reason; what records say is so."""

import dataclasses
import inspect
import re

import pytest
import torch.distributed.pipelining

from reference.pipeline.analysis.draw import gantt, picture
from reference.pipeline.analysis.validate import validate
from reference.pipeline.schedules.catalogue import SCHEDULES, make, stages
from reference.pipeline.schedules.record import ScheduleRecord
from reference.pipeline.simulate import UNIT, Costs, simulate

HALVES = Costs(F=1, I=0.5, W=0.5)


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_is_offered_is_valid(name):
    for p, m in [(1, 1), (1, 4), (2, 3), (2, 8), (3, 2), (4, 4), (4, 8), (4, 10)]:
        if SCHEDULES[name].refuses(p, m):
            with pytest.raises(ValueError, match=f"{name} for p = {p}, m = {m}: "):
                make(name, p, m)
            continue
        schedule = make(name, p, m)
        validate(schedule)
        assert (schedule.name, schedule.ranks, schedule.micro_batches) == (name, p, m)
        assert stages(name, p) == schedule.stages
        assert schedule.weights == SCHEDULES[name].weights
        where = SCHEDULES[name].placement
        assert schedule.chunks == [where.stages(r, p, 2) for r in range(p)]
        assert where.chunks in (None, len(schedule.chunks[0]))


@pytest.mark.parametrize("name", SCHEDULES)
def test_what_is_offered_can_be_drawn(name):
    schedule = make(name, 2, 4)
    for row, line, order in zip(picture(schedule), gantt(simulate(schedule)), schedule):
        passes = [str(action.micro) for action in order if action.kind != "S"]
        assert re.findall(r"[FBIW](\d+)", row) == passes and len(line) > len(passes)


def test_chunks_can_be_chosen_where_there_is_a_choice():
    assert make("interleaved 1F1B", 2, 4, v=3).stages == 6
    assert make("ZB-V", 2, 4, v=2).orders == make("ZB-V", 2, 4).orders
    with pytest.raises(ValueError, match=r"GPipe has 1 stage a rank, not 3: take 1, or do not choose"):
        make("GPipe", 2, 4, v=3)
    with pytest.raises(ValueError, match=r"ZB-V has 2 stages a rank, not 3: take 2, or do not choose"):
        make("zb-v", 2, 4, v=3)


def test_names_may_be_spelt_in_any_way():
    assert all(SCHEDULES.canonical_name(name.upper().replace(" ", "_")) == name for name in SCHEDULES)
    assert make("interleaved-1f1b", 2, 4) == make("interleaved 1F1B", 2, 4)


def test_what_there_is_not():
    with pytest.raises(ValueError, match="there is no schedule '2F2B'; choose from naive, GPipe"):
        make("2F2B", 2, 4)
    with pytest.raises(ValueError, match=r"m \(micro-batches\) must be a whole number of at least 1, got 0"):
        make("DualPipe", 2, 0)


def test_stages_follow_from_chunks_without_a_schedule():
    assert stages("interleaved-1f1b", 3, 10**6) == 3 * 10**6 and stages("zb-v", 4, 2) == 8


@pytest.mark.parametrize("name", SCHEDULES)
def test_options_are_those_of_the_function_and_of_what_refuses(name):
    record = SCHEDULES[name]
    for function in (record.make, record.refuses, record.idle.value, record.peaks.value):
        assert set(record.options) <= set(inspect.signature(function).parameters)


@pytest.mark.parametrize("name", [name for name, record in SCHEDULES.items() if "PyTorch" in record.elsewhere])
def test_torch_has_what_it_is_called_there(name):
    """What these do is in runtime/test_pipelining_oracle.py."""
    assert hasattr(torch.distributed.pipelining, SCHEDULES[name].elsewhere["PyTorch"])


def test_a_field_that_is_forgotten_is_an_error_at_import():
    fields = {field.name: getattr(SCHEDULES["1F1B"], field.name) for field in dataclasses.fields(ScheduleRecord)}
    for name in fields:
        with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{name}'"):
            ScheduleRecord(**{key: value for key, value in fields.items() if key != name})


@pytest.mark.parametrize(
    ("name", "p", "costs"),
    [("GPipe", 3, HALVES), ("1F1B", 3, HALVES), ("interleaved 1F1B", 2, HALVES), ("ZB-H1", 3, UNIT)],
)
def test_the_chart_in_the_docstring_is_what_it_does(name, p, costs):
    lines = [f"rank {r}  {line}\n" for r, line in enumerate(gantt(simulate(make(name, p, 4), costs)))]
    assert f"{' ' * 14}".join(lines) in inspect.getmodule(SCHEDULES[name].make).__doc__
