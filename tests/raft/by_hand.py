"""Two stories that the literature tells, step by step, for servers with and without the mistake."""

from reference.raft import ByHand, ChangeMembers, ClientRequest, JoinWorker, RaftNode, RaftTiming

FIVE = ["S1", "S2", "S3", "S4", "S5"]


def figure_8(node: type[RaftNode] = RaftNode) -> ByHand:
    """Figure 8 of the paper up to (c): S1 leads again, and a majority has the entry of term 2. One entry a message."""
    cluster = ByHand(FIVE, node=node, timing=RaftTiming(batch=1))
    elect(cluster, "S1", FIVE[1:])  # term 1
    for _ in range(2):
        cluster.exchange("S1", *FIVE[1:])
    cluster.crash("S1")
    cluster.lose()
    cluster.start("S1", cluster.now)
    elect(cluster, "S1", ["S2", "S3"])  # (a) S1 leads term 2, and only S2 gets its entry
    cluster.exchange("S1", "S2")
    cluster.crash("S1")
    cluster.lose()
    elect(cluster, "S5", ["S3", "S4"])  # (b) S5 leads term 3, and nobody gets its entry
    cluster.crash("S5")
    cluster.lose()
    cluster.start("S1", cluster.now)
    elect(cluster, "S1", ["S2", "S3", "S4"])  # (c) S1 leads again
    cluster.exchange("S1", "S2")
    cluster.exchange("S1", "S3")  # refused: S3 lacks the entry before
    cluster.exchange("S1", "S3")  # now a majority has the entry of term 2
    return cluster


def figure_8_ends(cluster: ByHand) -> None:
    """(d): S1 crashes, S5 comes back, is elected by S3 and S4, and replaces the entry."""
    cluster.crash("S1")
    cluster.lose()
    cluster.start("S5", cluster.now)
    elect(cluster, "S5", ["S3", "S4"])
    for _ in range(4):
        cluster.exchange("S5", "S3", "S4")


def two_changes(node: type[RaftNode] = RaftNode) -> ByHand:
    """The mistake of 2015: S1 adds S5, S2 removes S1; neither hears of the other's change."""
    four = FIVE[:4]
    cluster = ByHand(four, spares=["S5"], node=node)
    elect(cluster, "S1", four[1:])
    cluster.exchange("S1", *four[1:])
    cluster.ask("S1", ChangeMembers("admin", 1, tuple(FIVE)))
    cluster.waiting = {pair: sent for pair, sent in cluster.waiting.items() if pair == ("S1", "S5")}
    for _ in range(2):
        cluster.exchange("S1", "S5")
    cluster.crash("S1")
    cluster.lose()
    elect(cluster, "S2", ["S3", "S4"])
    cluster.lose()
    cluster.ask("S2", ChangeMembers("admin", 2, tuple(four[1:])))
    cluster.timeout("S2")
    cluster.exchange("S2", "S3")
    cluster.lose()
    cluster.start("S1", cluster.now)
    elect(cluster, "S1", ["S4", "S5"])
    return cluster


def elect(cluster: ByHand, name: str, voters: list[str]) -> None:
    """Let a server win an election: it waits until its term is new to the voters."""
    for _ in range(5):
        cluster.timeout(name)
        cluster.exchange(name, *voters)
        if cluster.leaders()[-1:] == [name]:
            return


def ask(cluster: ByHand, name: str, worker: str, serial: int = 1) -> None:
    cluster.ask(name, ClientRequest("C1", serial, JoinWorker(worker)))
