"""Whatever the catalogue offers is a schedule; what it refuses, it refuses with the reason."""

import pytest

from reference.pipeline.analysis.validate import validate
from reference.pipeline.schedules.catalogue import SCHEDULES, canonical_name, make, stages


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
        chunks = SCHEDULES[name].chunks or 2
        assert all(len(own) == chunks for own in schedule.chunks)


def test_chunks_can_be_chosen_where_there_is_a_choice():
    assert make("interleaved 1F1B", 2, 4, v=3).stages == 6
    assert make("ZB-V", 2, 4, v=2).orders == make("ZB-V", 2, 4).orders
    with pytest.raises(ValueError, match=r"GPipe has 1 stage a rank, not 3: take 1, or do not choose"):
        make("GPipe", 2, 4, v=3)
    with pytest.raises(ValueError, match=r"ZB-V has 2 stages a rank, not 3: take 2, or do not choose"):
        make("zb-v", 2, 4, v=3)


def test_names_may_be_spelt_in_any_way():
    assert all(canonical_name(name.upper().replace(" ", "_")) == name for name in SCHEDULES)
    assert make("interleaved-1f1b", 2, 4) == make("interleaved 1F1B", 2, 4)


def test_what_there_is_not():
    with pytest.raises(ValueError, match="there is no schedule '2F2B'; choose from naive, GPipe"):
        make("2F2B", 2, 4)
    with pytest.raises(ValueError, match=r"m \(micro-batches\) must be a whole number of at least 1, got 0"):
        make("DualPipe", 2, 0)


def test_stages_follow_from_chunks_without_a_schedule():
    assert stages("interleaved-1f1b", 3, 10**6) == 3 * 10**6 and stages("zb-v", 4, 2) == 8
