"""Two worlds, one program: real ranks under mpirun, and the virtual cluster inside one process.

    from reference.worlds import launch, networks
    run = launch(program, 64, x, network=networks.two_level(8))  # program(comm, x), once per rank
    run = launch(program, 5, x, world="mpi")  # the same on 5 real ranks

Both give back a Run, or raise one of the errors below.
"""

from .. import networks
from ..perf.timeline import Event, Timeline
from .errors import (
    BufferChanged,
    CollectiveMismatch,
    Deadlock,
    LaunchError,
    RankDied,
    RankFailed,
    RequestsLeft,
    TimedOut,
    Truncation,
    TypeMismatch,
    UnreceivedMessages,
)
from .faults import BitFlip, DropMessage, Hang, Kill, Partition, Slow, random_kills
from .launch import launch
from .real.holder import close_job
from .run import Run

__all__ = [
    "BitFlip",
    "BufferChanged",
    "CollectiveMismatch",
    "Deadlock",
    "DropMessage",
    "Event",
    "Hang",
    "Kill",
    "LaunchError",
    "Partition",
    "RankDied",
    "RankFailed",
    "RequestsLeft",
    "Run",
    "Slow",
    "TimedOut",
    "Timeline",
    "Truncation",
    "TypeMismatch",
    "UnreceivedMessages",
    "close_job",
    "launch",
    "networks",
    "random_kills",
]
