"""Timelines: what they record adds up, what they draw is what they record, and Perfetto can read it."""

import json

import matplotlib
import numpy as np
import pytest

from reference import mpi
from reference.collectives import ring_allreduce, start_ring_allreduce
from reference.worlds import Event, Timeline, launch, networks

matplotlib.use("agg")


def program(comm):
    mpi.compute(comm, 2e-6)
    part = comm.Split(comm.rank % 2)
    part.Set_name("dp")
    ring_allreduce(part, np.ones(100))


@pytest.fixture(scope="module")
def timeline() -> Timeline:
    return launch(program, 4, network=networks.uniform(alpha=1e-6, beta=1e-9, gamma=1e-9)).timeline


def test_every_second_of_a_rank_is_accounted_for(timeline):
    transfers = 2 * (1e-6 + 50 * 8 * 1e-9)
    for rank in range(4):
        assert timeline.busy(rank, "compute") == pytest.approx(2e-6 + 400e-9)
        assert timeline.busy(rank, "send") == pytest.approx(transfers)
        assert timeline.busy(rank, "recv") == pytest.approx(transfers)
        assert timeline.busy(rank, "wait") == pytest.approx(transfers)  # blocking: it waits while it sends
    assert timeline.seconds == pytest.approx(2e-6 + 400e-9 + transfers) and timeline.ranks == 4


def test_sends_and_receives_are_two_sides_of_one_transfer(timeline):
    sends = sorted((e.start, e.end, e.rank, e.peer, e.nbytes, e.group) for e in timeline.of(kind="send"))
    receives = sorted((e.start, e.end, e.peer, e.rank, e.nbytes, e.group) for e in timeline.of(kind="recv"))
    assert sends == receives and {send[-1] for send in sends} == {"dp"}


def test_bytes_are_told_apart_by_group(world):
    def two_groups(comm):
        tp, dp = comm.Split(comm.rank // 2), comm.Split(comm.rank % 2)
        tp.Set_name("tp")
        dp.Set_name("dp")
        ring_allreduce(tp, np.ones(100))
        ring_allreduce(dp, np.ones(10))

    run = launch(two_groups, 4, world=world)
    assert run.bytes_by_group == {"tp": [800] * 4, "dp": [80] * 4}
    assert run.bytes_sent == [880] * 4


def test_the_picture_has_a_bar_for_every_event(timeline):
    ax = timeline.draw(label=lambda event: str(event.peer))
    bars = sorted((bar.get_x(), bar.get_width()) for bar in ax.patches)
    scale = 1e-6  # the axis is in microseconds
    assert np.allclose(bars, sorted((e.start / scale, (e.end - e.start) / scale) for e in timeline))
    assert "µs" in ax.get_xlabel() and len(ax.texts) == len([e for e in timeline if e.kind != "wait"])
    matplotlib.pyplot.close(ax.figure)


def test_an_empty_timeline_draws_too():
    ax = Timeline().draw()
    assert not ax.patches
    matplotlib.pyplot.close(ax.figure)


def test_perfetto_reads_every_event_and_joins_messages(timeline, tmp_path):
    text = timeline.to_perfetto(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text() == text
    rows = json.loads(text)["traceEvents"]
    complete = [row for row in rows if row["ph"] == "X"]
    assert [(row["pid"], row["cat"]) for row in complete] == [(e.rank, e.kind) for e in timeline]
    assert [row["dur"] for row in complete] == pytest.approx([(e.end - e.start) * 1e6 for e in timeline])
    starts, ends = ({row["id"]: row for row in rows if row["ph"] == phase} for phase in "sf")
    assert starts.keys() == ends.keys() and len(starts) == len(timeline.of(kind="send"))
    assert all(starts[i]["ts"] < ends[i]["ts"] and starts[i]["pid"] != ends[i]["pid"] for i in starts)


@pytest.mark.mpi
def test_real_ranks_record_the_same_kinds():
    def begun(comm):
        program(comm)
        start_ring_allreduce(comm, np.ones(100)).Wait()

    real, longer = (launch(each, 4, world="mpi").timeline for each in (program, begun))
    assert {e.kind for e in real} == {"send", "recv", "compute"}  # a blocking call's time is that of its messages
    assert {e.kind for e in longer} == {"send", "recv", "wait", "compute"}
    assert [len(real.of(rank, "send")) for rank in range(4)] == [2] * 4
    assert all(0 <= e.start <= e.end for timeline in (real, longer) for e in timeline)


def test_kinds_are_told_apart_by_more_than_colour():
    """Sends lie above receives, and the colours of both differ in brightness, for readers who see few colours."""
    ax = Timeline([Event(0, "send", 0, 1, 1, 8), Event(0, "recv", 0, 1, 1, 8)]).draw()
    (send, receive) = ax.patches
    assert send.get_y() + send.get_height() <= receive.get_y()
    brightness = [np.dot(bar.get_facecolor()[:3], (0.2126, 0.7152, 0.0722)) for bar in (send, receive)]
    assert abs(brightness[0] - brightness[1]) > 0.2
    matplotlib.pyplot.close(ax.figure)
