"""Consensus by Raft: a log that servers agree on, and on top of it which checkpoint is committed.

node.py is one server, a pure state machine; log.py is its log, messages.py what it sends and what it must never forget.
sessions.py carries a repeated request out once. store.py is what the log is for: workers, epoch, and the committed
checkpoint. hosts.py runs servers with their disks, network.py in bad weather, with the clients of clients.py;
invariants.py checks the five properties after each step, history.py what the clients saw.
"""

from .history import Operation, linearization
from .hosts import ByHand, RaftHosts
from .invariants import Invariants, SafetyViolated
from .log import RaftLog
from .messages import ChangeMembers, ClientRequest, Durable, LogEntry, LogSnapshot, RaftTiming
from .network import CALM, STORM, RaftSimulation, Weather
from .node import RaftNode
from .store import CommitCheckpoint, JoinWorker, LeaveWorker, ReadStore, StoreState, apply

__all__ = [
    "CALM",
    "STORM",
    "ByHand",
    "ChangeMembers",
    "ClientRequest",
    "CommitCheckpoint",
    "Durable",
    "Invariants",
    "JoinWorker",
    "LeaveWorker",
    "LogEntry",
    "LogSnapshot",
    "Operation",
    "RaftHosts",
    "RaftLog",
    "RaftNode",
    "RaftSimulation",
    "RaftTiming",
    "ReadStore",
    "SafetyViolated",
    "StoreState",
    "Weather",
    "apply",
    "linearization",
]
