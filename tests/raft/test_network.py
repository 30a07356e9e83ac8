"""Many seeds of bad weather: the right server keeps all properties, and servers with mistakes are found out."""

import pytest

from reference.raft import CALM, RaftNode, RaftSimulation, SafetyViolated

from . import mistakes
from .mistakes import simulation

SECONDS = 6.0
FOUND = {  # a seed or two that show the mistake; the long test looks for others
    mistakes.VotesTwice: (0, 1),
    mistakes.VotesForAnyLog: (0, 1),
    mistakes.CommitsOldTerms: (379, 628),
    mistakes.ForgetsItsVote: (82, 107),
    mistakes.ForgetsItsTerm: (65, 103),
    mistakes.ForgetsItsLog: (0, 3),
    mistakes.AcceptsStaleLeaders: (2, 15),
    mistakes.TruncatesAlways: (15, 42),
    mistakes.CountsRemovedMembers: (72, 169),
    mistakes.ChangesManyAtOnce: (159, 341),
    mistakes.ReadsAlone: (1, 7),
}


def broken(seed: int, node: type[RaftNode]) -> str:
    """The property that breaks in the run of a seed; "" if none does."""
    run = simulation(seed, node=node)
    try:
        run.run(SECONDS)
    except SafetyViolated as error:
        return str(error).split(":")[0]
    return "" if run.is_linearizable() else "linearizability"


def settles(seed: int) -> None:
    """The right server: no property breaks, clients see one server, and in the end all servers come to agree."""
    run = simulation(seed).run(SECONDS).settle(1.5)
    for client in run.clients.values():
        client.pause = 1e9  # seconds: nobody asks any more
    run.run(1.0)
    assert run.is_linearizable()
    assert any(agree(run.run(0.1)) for _ in range(30))  # not at once: clocks that differ much make leaders change


def agree(run: RaftSimulation) -> bool:
    """Whether there is one leader, and all members have applied the same."""
    leaders = run.leaders()
    nodes = [run.nodes[name] for name in run.nodes[leaders[-1]].log.members] if leaders else []
    return len(leaders) == 1 and len({(node.last_applied, node.state) for node in nodes}) == 1


@pytest.mark.parametrize("tens", range(15))
def test_the_right_server_is_safe_and_makes_progress(tens):
    for seed in range(10 * tens, 10 * tens + 10):
        settles(seed)


@pytest.mark.long
@pytest.mark.parametrize("hundreds", range(2, 52))
def test_the_right_server_is_safe_for_thousands_of_seeds(hundreds):
    for seed in range(100 * hundreds, 100 * hundreds + 100):
        settles(seed)


@pytest.mark.parametrize("node", FOUND, ids=lambda node: node.__name__)
def test_a_mistake_is_found(node):
    assert any(broken(seed, node) for seed in FOUND[node])
    assert not any(broken(seed, RaftNode) for seed in FOUND[node])


@pytest.mark.long
@pytest.mark.parametrize("node", FOUND, ids=lambda node: node.__name__)
def test_a_mistake_is_found_without_knowing_the_seed(node):
    assert any(broken(seed, node) for seed in range(10_000, 12_000))


def test_a_seed_is_one_run():
    one, two = (simulation(3).run(2.0) for _ in range(2))
    assert one.sent == two.sent and one.history() == two.history() and one.disks == two.disks
    assert simulation(4).run(2.0).sent != one.sent


def test_in_calm_weather_an_entry_costs_eight_messages_and_one_round_trip():
    run = RaftSimulation(5, spares=0, clients=1, weather=CALM).run(2.0)
    before, entries = dict(run.sent), len(run.invariants.committed)
    run.run(2.0)
    entries = len(run.invariants.committed) - entries
    appends = run.sent["AppendEntries"] - before["AppendEntries"]
    beats = 2.0 / run.timing.heartbeat * 4
    assert entries > 20 and appends == pytest.approx(4 * entries + beats, abs=8)
    assert run.sent["RequestVote"] == before["RequestVote"]  # nobody doubts the leader
    waited = [operation.end - operation.start for operation in run.history()[-20:-1]]
    assert waited == pytest.approx([4 * CALM.least] * 19)  # client, leader, followers, leader, client


def test_only_the_majority_goes_on():
    run = RaftSimulation(5, spares=0, clients=0, weather=CALM).run(1.0)
    (old,) = run.leaders()
    others = [name for name in run.names if name != old]
    run.partition([old, others[0]], others[1:])
    run.run(1.0)
    (new,) = run.leaders()  # the old one has stepped down
    assert new in others[1:] and run.nodes[new].current_term > 1
    run.partition()
    run.run(0.5)
    assert {node.leader for node in run.nodes.values()} == {run.leaders()[-1]}


def test_without_a_majority_nothing_happens_and_settle_says_so():
    run = RaftSimulation(3, spares=0, clients=1, weather=CALM).run(1.0)
    for name in ("S1", "S2"):
        run.crash(name)
    run.run(0.2)
    before = len(run.invariants.committed)
    run.run(1.0)
    assert len(run.invariants.committed) == before and not run.leaders()
    with pytest.raises(AssertionError, match="nothing was committed"):
        run.settle(0.001)
    run.settle(2.0)
