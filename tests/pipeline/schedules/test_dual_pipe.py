"""DualPipe and its V shape: the drawn case, torch's order, and bubble and memory as theorems."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from torch.distributed.pipelining.schedules import ScheduleDualPipeV

from reference.pipeline.analysis.draw import picture
from reference.pipeline.analysis.validate import validate
from reference.pipeline.schedules.dual_pipe import dual_pipe, dual_pipe_v
from reference.pipeline.simulate import Costs, activations, simulate
from tests.pipeline.torch_orders import torch_schedule

seconds = st.integers(1, 9)


def test_dual_pipe_is_the_figure():
    assert picture(dual_pipe(4, 8)) == [
        "0F0 0F1 0F2 3F4 3I4 3W4 3F5 0F3+3B5 3F6+0B0 3B6 3F7+0B1 3B7 0I2 0W2 0I3 0W3",
        "1F0 2F4 1F1 2F5 1F2 2B4 2F6+1B0 1F3+2B5 2F7+1B1 2B6 1B2 2I7 1I3 2W7 1W3",
        "1F4 2F0 1F5 2F1 1F6 2B0 2F2+1B4 1F7+2B1 2F3+1B5 2B2 1B6 2I3 1I7 2W3 1W7",
        "0F4 0F5 0F6 3F0 3I0 3W0 3F1 0F7+3B1 3F2+0B4 3B2 3F3+0B5 3B3 0I6 0W6 0I7 0W7",
    ]


@given(n=st.integers(1, 5), more=st.integers(0, 12))
def test_any_sizes_are_valid(n, more):
    validate(dual_pipe(2 * n, 4 * n + 2 * more))
    validate(dual_pipe_v(n, 2 * n + more))


@given(n=st.integers(1, 5), more=st.integers(0, 12))
def test_every_stage_lives_twice_with_half_of_the_micro_batches_each(n, more):
    p, m = 2 * n, 4 * n + 2 * more
    schedule = dual_pipe(p, m)
    assert schedule.chunks == [sorted({r, p - 1 - r}) for r in range(p)]
    assert schedule.home == {(s, i): s if i < m // 2 else p - 1 - s for s in range(p) for i in range(m)}


@given(st.integers(1, 5), st.integers(0, 12), seconds, seconds, seconds, st.floats(0, 1))
def test_bubble_and_memory(n, more, F, I, W, overlap):  # noqa: E741
    """With I <= F; published is (n - 1) (FB + B - 3W), B = I + W, which is the same if W <= I = F."""
    F, I = max(F, I), min(F, I)  # noqa: E741
    c = 2 * n + more
    FB = F + I + W - round(overlap * min(F, I + W))
    half, whole = dual_pipe_v(n, c), dual_pipe(2 * n, 2 * c)
    times = simulate(half, Costs(F, I, W, pair=FB))
    paired = 2 * (c - n) - 1
    assert times.busy[-1] == paired * FB + (2 * c - paired) * (F + I + W)
    assert times.makespan - times.busy[-1] == (n - 1) * (FB + F - W - min(I, W))
    assert simulate(whole, Costs(F, I, W, pair=FB)).makespan == times.makespan
    assert activations(half) == [2 * n + 1] * n and activations(whole) == [2 * n + 1] * 2 * n


@pytest.mark.parametrize("p, m", [(1, 2), (2, 4), (4, 8), (4, 13), (8, 32)])
def test_v_is_torch(p, m):
    ours, theirs = dual_pipe_v(p, m), torch_schedule(ScheduleDualPipeV, p, m)
    assert ours.orders == theirs.orders and ours.overlapped == theirs.overlapped


@pytest.mark.parametrize("p, m", [(3, 8), (4, 9)])
def test_halves_must_be_halves(p, m):
    with pytest.raises(ValueError, match=f"DualPipe for p = {p}, m = {m}: both must be even"):
        dual_pipe(p, m)


@pytest.mark.parametrize("schedule", [dual_pipe, dual_pipe_v])
def test_too_few_micro_batches(schedule):
    with pytest.raises(ValueError, match="for p = 4, m = 6: it needs at least 2p = 8 micro-batches"):
        schedule(4, 6)
