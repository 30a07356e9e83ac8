"""Jobs that take turns: each is ranks in processes of their own, and only the job that is asked does anything.

The ranks of the others wait in a blocking read from the parent, and take no core: neither MPI's waiting, which polls,
nor gloo's threads disturb what is measured.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import time
from collections.abc import Callable, Sequence
from multiprocessing.connection import Client, Listener
from typing import Any

SECONDS_TO_START = 120


class Job:
    """Ranks that were started together: each is asked, and answers, over a socket of its own.

    commands: what to start, with the socket's address behind it; `answer` in each rank serves what is asked.
    """

    def __init__(self, ranks: int, commands: Sequence[Sequence[str]], environment: dict[str, str]):
        self._folder = tempfile.TemporaryDirectory()
        with Listener(f"{self._folder.name}/socket") as listener:
            listener._listener._socket.settimeout(SECONDS_TO_START)  # else a job that fails leaves us waiting
            self._started = [
                subprocess.Popen([*command, listener.address], env={**os.environ, **environment})
                for command in commands
            ]
            ranked = [(there.recv(), there) for there in (listener.accept() for _ in range(ranks))]
        self._ranks = [there for _, there in sorted(ranked, key=lambda one: one[0])]

    def ask(self, *what: Any) -> list[Any]:
        """What each rank answers."""
        for there in self._ranks:
            there.send(what)
        return [there.recv() for there in self._ranks]

    def end(self) -> None:
        """Let the ranks end."""
        for there in self._ranks:
            there.send(None)
        for process in self._started:
            process.wait()
        self._folder.cleanup()


def answer(address: str, rank: int, found: Callable[..., Any]) -> None:
    """In a rank: answer what the parent asks with found(*what), until it asks nothing more."""
    with Client(address) as parent:
        parent.send(rank)
        while (what := parent.recv()) is not None:
            parent.send(found(*what))


def timed(step: Callable[[], None], barrier: Callable[[], Any]) -> tuple[float, float]:
    """Seconds of a step that all ranks begin together, and seconds that all threads of this process computed in it."""
    barrier()
    start, computed = time.perf_counter(), time.process_time()
    step()
    return time.perf_counter() - start, time.process_time() - computed
