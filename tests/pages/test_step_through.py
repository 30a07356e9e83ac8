"""The step-through: what it shows is what was recorded, and what was recorded is what schedules and formulas say."""

import json
import re
from dataclasses import replace
from functools import partial
from itertools import groupby

import numpy as np
import pytest

from reference.collectives import ALLREDUCE
from reference.collectives.draw import contributions
from reference.collectives.ring import ring_reduce_scatter_rounds
from reference.collectives.rounds import block_bounds
from reference.networks import Link
from reference.pages import step_through
from reference.pages.step_through import Recording, StepThrough, record
from reference.registry import Registry
from reference.worlds import RankFailed, launch, networks

ALPHA, BETA, GAMMA = 2e-6, 1e-9, 0.25e-9
NAMES = ["ring", "binomial tree", "halving-doubling"]
COUNT = 240  # elements; 2, 3, 4, 5 and 8 blocks of it are all alike


def run_of(name: str, ranks: int, count: int = COUNT, **options):
    """A launch of `record`."""
    network = networks.uniform(ALPHA, BETA, GAMMA)
    return launch(lambda comm: record(comm, name, count, **options), ranks, network=network)


def recording_of(name: str, ranks: int, count: int = COUNT, **options) -> Recording:
    return Recording.of(run_of(name, ranks, count, **options))


def in_rounds(name: str, ranks: int, **options) -> np.ndarray:
    """How many ranks' data each block holds before and after every round, worked out without running anything."""
    algorithm = ALLREDUCE[name]
    return contributions(partial(algorithm.rounds, **options), ranks, algorithm.blocks(ranks, **options))


def changes(states) -> list:
    """The states, without those that are equal to the one before."""
    return [state for state, _ in groupby(np.asarray(states).tolist())]


# ------------------------------------------------------------------------------------------------ recordings


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
@pytest.mark.parametrize("count", [COUNT, 43])
@pytest.mark.parametrize("name", NAMES)
def test_in_the_end_every_rank_has_everything_when_the_formula_says(name, count, ranks):
    run = run_of(name, ranks, count)
    recording = Recording.of(run)
    cost = ALLREDUCE[name].cost(ranks, count, 8, Link(ALPHA, BETA, GAMMA))
    assert (recording.contributions[0] == 1).all() and (recording.contributions[-1] == ranks).all()
    assert recording.moments[-1] == recording.seconds == run.seconds == pytest.approx(cost.seconds, rel=1e-12)
    assert recording.moments == sorted(set(recording.moments)) and recording.moments[0] == 0


@pytest.mark.parametrize("ranks", [2, 3, 5, 8])
@pytest.mark.parametrize(
    "name, options",
    [*((name, {}) for name in NAMES), ("recursive doubling", {}), ("double tree", {"segments": 2})],
)
def test_every_rank_goes_through_the_states_that_the_rounds_say(name, options, ranks):
    recorded, expected = recording_of(name, ranks, **options).contributions, in_rounds(name, ranks, **options)
    for rank in range(ranks):
        assert changes(recorded[:, rank]) == changes(expected[:, rank])


@pytest.mark.parametrize("name, ranks", [("ring", p) for p in (2, 3, 5, 8)] + [("halving-doubling", p) for p in (2, 8)])
def test_where_all_ranks_go_in_step_steps_are_rounds(name, ranks):
    assert recording_of(name, ranks).contributions.tolist() == in_rounds(name, ranks).tolist()


def test_where_they_do_not_every_moment_is_a_step():
    assert len(recording_of("ring", 5, count=43).moments) > len(in_rounds("ring", 5))
    direct = recording_of("direct", 4)  # its blocks are posted together: one port takes them one after the other
    assert len(direct.moments) - 1 == 6 and len({message.done for message in direct.messages}) == 6


@pytest.mark.parametrize("name", NAMES)
def test_the_messages_of_a_step_make_its_state_from_the_one_before(name):
    recording = recording_of(name, 8)
    for number, messages in enumerate(recording.steps):
        state = recording.held[max(number - 1, 0)].copy()
        for message in messages:
            sent = recording.held[number - 1][message.source, message.lo : message.hi]
            assert {mask.bit_count() for mask in sent.tolist()} == set(message.counts)
            there = state[message.to, message.lo : message.hi]
            assert message.combine is (not np.array_equal(sent | there, sent))  # else it brings nothing to add to
            state[message.to, message.lo : message.hi] = sent + there * message.combine
        assert state.tolist() == recording.held[number].tolist()


@pytest.mark.parametrize("count", [COUNT, 43])
@pytest.mark.parametrize("name", NAMES)
def test_messages_and_additions_are_those_of_the_timeline(name, count):
    run = run_of(name, 5, count)
    recording = Recording.of(run)
    bounds = 8 * block_bounds(count, recording.blocks)
    sent = sorted((m.source, m.to, m.start, m.end, m.nbytes) for m in recording.messages)
    assert sent == sorted((e.rank, e.peer, e.start, e.end, e.nbytes) for e in run.timeline.of(kind="send"))
    assert [sum(m.nbytes for m in recording.messages if m.source == r) for r in range(5)] == run.bytes_sent
    assert recording.computes == [(e.rank, e.start, e.end) for e in run.timeline.of(kind="compute")]
    for m in recording.messages:
        assert m.nbytes == bounds[m.hi] - bounds[m.lo]
        added = [m.done - start for rank, start, end in recording.computes if (rank, end) == (m.to, m.done)]
        assert added == pytest.approx([m.nbytes * GAMMA] * m.combine, rel=1e-6) and m.done >= m.end + sum(added) - 1e-15
        assert recording.moments[recording.step_of(m)] == pytest.approx(m.done, rel=1e-12)


# ------------------------------------------------------------------------------------------------ in words


@pytest.mark.parametrize(
    "name, ranks, step, words",
    [
        ("ring", 8, 0, "Start: each of the 8 ranks holds its own data and nobody else's."),
        (
            "ring",
            8,
            7,
            "Step 7 of 14: Every rank sends one block to its right neighbour and adds what comes. Rank 0 sends block "
            "1, with the data of 7 ranks in it, to rank 1. Now 8 of 64 cells are complete.",
        ),
        (
            "binomial tree",
            8,
            2,
            "Step 2 of 6: The whole array goes from rank 2 to 0 and 3 to 1, where it is added. Rank 2 sends its array, "
            "with the data of 2 ranks in it, to rank 0. No cell is complete yet.",
        ),
        (
            "binomial tree",
            5,
            3,
            "Step 3 of 6: The whole array goes from rank 1 to 0, where it is added. Rank 1 sends its array, with the "
            "data of 2 ranks in it, to rank 0. Now 1 of 5 cells is complete.",
        ),
        (
            "halving-doubling",
            8,
            1,
            "Step 1 of 6: Every rank exchanges 4 blocks with the rank 4 away and adds what comes. Rank 0 sends blocks "
            "4–7, with the data of 1 rank in it, to rank 4. No cell is complete yet.",
        ),
        (
            "halving-doubling",
            5,
            7,
            "Step 7 of 7: All 4 blocks go from rank 0 to 1, where they replace what was there. Rank 0 sends blocks "
            "0–3, with the data of 5 ranks in it, to rank 1. Now every cell is complete.",
        ),
    ],
)
def test_what_happens_in_words(name, ranks, step, words):
    assert recording_of(name, ranks).sentences()[step] == words


# ------------------------------------------------------------------------------------------------ in the page


def shown() -> StepThrough:
    return StepThrough({name: run_of(name, 8, count=4099) for name in NAMES})


def test_the_page_holds_what_was_recorded():
    widget = shown()
    embedded = re.search(r'<script type="application/json">(.*?)</script>', widget._repr_html_(), re.DOTALL)[1]
    data = json.loads(embedded)
    assert data == json.loads(json.dumps(widget.data()))
    assert (data["ranks"], data["bytes"], [run["name"] for run in data["runs"]]) == (8, 8 * 4099, NAMES)
    for run, recording in zip(data["runs"], widget.recordings.values(), strict=True):
        assert run["held"] == recording.held.tolist() and len(run["sentences"]) == len(run["moments"])
        assert run["moments"] == pytest.approx([moment * 1e6 for moment in recording.moments], abs=1e-6)
        steps = [[m["from"] for m in run["messages"] if m["step"] == step] for step in range(len(run["moments"]))]
        assert [sorted(step) for step in steps] == [[m.source for m in step] for step in recording.steps]


def test_the_page_is_small_fetches_nothing_and_is_the_same_every_time():
    one, two = shown(), shown()
    assert one._repr_html_() == two._repr_html_() and repr(one) == repr(two)
    html = one._repr_html_()
    assert len(html.encode()) < 100_000
    assert not re.search(r"https?:|//\w|\bsrc=|@import|url\(|\bfetch\b|\bimport\b", html.replace("// ", ""))


def test_the_words_of_the_cell_tell_the_times_and_change_with_the_page(monkeypatch):
    widget = StepThrough({"ring": run_of("ring", 8, 4096)})
    first, times = repr(widget).splitlines()
    assert times == "ring: 14 steps, 112 messages, 92.512 µs"
    assert re.fullmatch(r"step-through of all-reduce, 32,768 bytes on 8 ranks \(page [0-9a-f]{8}\)", first)
    monkeypatch.setattr(step_through, "BLOCK_COLOURS", ["#000000"])
    assert repr(widget).splitlines()[0] != first and repr(widget).splitlines()[1] == times


def test_names_cannot_break_out_of_the_page():
    html = StepThrough({"</script><b>&": run_of("ring", 2)})._repr_html_()
    assert html.count("</script>") == 2 and "<b>&" not in html
    (data,) = re.findall(r'<script type="application/json">(.*?)</script>', html, re.DOTALL)
    assert json.loads(data)["runs"][0]["name"] == "</script><b>&"


# ------------------------------------------------------------------------------------------------ what is refused


def test_what_cannot_be_recorded_is_refused():
    with pytest.raises(RankFailed, match="choose one of: ring"):
        run_of("rings", 2)
    with pytest.raises(RankFailed, match="3 elements leave some of the 4 blocks empty: give 4 or more"):
        run_of("ring", 4, count=3)
    with pytest.raises(RankFailed, match="54 ranks do not fit"):
        run_of("binomial tree", 54)
    with pytest.raises(ValueError, match="not a recording"):
        Recording.of(launch(lambda comm: None, 2))
    with pytest.raises(ValueError, match="no common clock"):
        Recording.of(replace(run_of("ring", 2), world="mpi"))
    with pytest.raises(ValueError, match="nothing takes time"):
        recording_of("ring", 1)


def test_a_schedule_that_does_not_all_reduce_is_refused(monkeypatch):
    half = replace(ALLREDUCE["ring"], name="half", rounds=ring_reduce_scatter_rounds)
    monkeypatch.setattr("reference.pages.step_through.ALLREDUCE", Registry("all-reduce", [half]))
    with pytest.raises(ValueError, match="rank 0 ends with the data of ranks 0 and 2 in block 1, not of all 3"):
        recording_of("half", 3)


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="nothing to show"):
        StepThrough({})
    with pytest.raises(ValueError, match="a: 2 ranks and 1,920 bytes, b: 3 ranks and 1,920 bytes"):
        StepThrough({"a": run_of("ring", 2), "b": run_of("ring", 3)})
