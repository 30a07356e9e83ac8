"""One script, by pysyncobj on sockets and by our servers: the same answers, also after the loss of a leader."""

import socket
import time

from pysyncobj import SyncObj, SyncObjConf, replicated

from reference.perf import pace
from reference.raft import (
    CALM,
    ClientRequest,
    CommitCheckpoint,
    JoinWorker,
    LeaveWorker,
    LogEntry,
    RaftSimulation,
    ReadStore,
)
from reference.raft.hosts import EMPTY, store_step

SHARDS = (("a", "1f"), ("b", "2e"))
BEFORE = [JoinWorker("a"), JoinWorker("b"), JoinWorker("a"), CommitCheckpoint(10, 2, SHARDS)]
AFTER = [ReadStore(), LeaveWorker("a"), CommitCheckpoint(20, 2, SHARDS), CommitCheckpoint(20, 3, SHARDS[1:])]
LOST = JoinWorker("c")  # asked of the last server, alone


class Theirs(SyncObj):
    """The checkpoint store, replicated by pysyncobj."""

    def __init__(self, own, others):
        conf = SyncObjConf(autoTick=False, appendEntriesPeriod=0.02, raftMinTimeout=0.6, raftMaxTimeout=1.2)
        conf.connectionRetryTime = 0.05
        super().__init__(own, others, conf)
        self.sessions = EMPTY

    @replicated
    def do(self, serial, command):
        """pysyncobj may carry out a request twice, if it is asked twice; our sessions are above it."""
        self.sessions, answer = store_step(self.sessions, LogEntry(1, command, "C1", serial))
        return answer


def theirs() -> list:
    """What pysyncobj answers: to the script, and whether a server without a majority answers."""
    ports = []
    for _ in range(3):
        with socket.socket() as free:
            free.bind(("localhost", 0))
            ports.append(f"localhost:{free.getsockname()[1]}")
    servers = [Theirs(own, [other for other in ports if other != own]) for own in ports]
    try:
        answers = [answer_of(servers, serial, command) for serial, command in enumerate(BEFORE, 1)]
        stop(servers)
        answers += [answer_of(servers, serial, command) for serial, command in enumerate(AFTER, 5)]
        state = max((server.sessions for server in servers), key=lambda each: each.last[0][1]).state
        stop(servers)
        return [*answers, answer_of(servers, 9, LOST, seconds=2.0), state]
    finally:
        while servers:
            servers.pop().destroy()


def answer_of(servers, serial, command, seconds: float = 60.0):
    """Ask the leader, or somebody, and again if there is no answer; None if there is none in time."""
    end, answers = time.monotonic() + seconds * pace.pace(), []
    while time.monotonic() < end and not answers:
        asked: list = []
        leading = [server for server in servers if server._isLeader()]
        if leading or seconds < 60.0:
            (leading or servers)[0].do(serial, command, callback=lambda *told, asked=asked: asked.append(told))
        again = min(end, time.monotonic() + 1.0)
        while time.monotonic() < again and not asked:
            turn(servers)
        answers = [answer for answer, error in asked if error == 0]
    return answers[0] if answers else None


def turn(servers) -> None:
    for server in servers:
        server.doTick(0.002)


def stop(servers) -> None:
    """End the leader, or the first server if none leads."""
    server = next((each for each in servers if each._isLeader()), servers[0])
    servers.remove(server)
    server.destroy()


def ours() -> list:
    """What our servers answer."""
    run = RaftSimulation(3, spares=0, clients=1, weather=CALM)
    client = run.clients["C1"]
    client.pause, client.draw = 1e9, ReadStore  # it asks for what we say, and for nothing of its own but a first read
    run.run(1.0)

    def ask(command, seconds=5.0):
        client.serial, client.waits, client.command = client.serial + 1, True, command
        before = len(client.done)
        for _ in range(int(seconds / 0.1)):
            for server in list(run.nodes):
                run._post("C1", [(server, ClientRequest("C1", client.serial, command))])
            run.run(0.1)
            if len(client.done) > before:
                return client.done[-1].result
        return None

    answers = [ask(command) for command in BEFORE]
    run.crash(run.leaders()[-1])
    answers += [ask(command) for command in AFTER]
    state = run.nodes[run.leaders()[-1]].state.state
    run.crash(run.leaders()[-1])
    return [*answers, ask(LOST, seconds=1.0), state]


def test_the_same_script_has_the_same_answers():
    mine, other = ours(), theirs()
    assert mine == other
    assert [answer.accepted for answer in mine[:-2]] == [True, True, False, True, True, True, False, True]
    assert mine[-2] is None  # one server of three
    assert mine[-1].checkpoint == CommitCheckpoint(20, 3, SHARDS[1:])
