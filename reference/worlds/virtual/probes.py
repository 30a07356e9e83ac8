"""The virtual communicator's probes: is a message there, and, with a matched probe, this message and no other."""

from __future__ import annotations

from ... import mpi
from .. import spelling
from .point_to_point import PointToPoint


class Probes(PointToPoint):
    """A communicator's calls that look for messages."""

    def _probe(self, name: str, source: int, tag: int, status: mpi.Status | None, wait: bool) -> bool:
        self._enter(name, spelling.arguments, source, tag)
        if source == mpi.PROC_NULL:
            self._finish(self._nothing(), status)
            return True
        probe, engine = self._filter(None, source, tag), self._engine
        if wait:
            turn = self._me.turn(self._me.clock)  # behind the receives that this rank has posted
            engine.post(self._me.clock, self._me.index, lambda now: engine.messages.probe(now, probe), turn)
            engine.wait(self._me, [probe])
        else:
            engine.poll(self._me)
        found = engine.messages.find(probe)
        if not wait:
            engine.polled(self._me, found is not None)
        if found is not None and status is not None:
            status.source, status.tag = self._context.rank_of[found.rank], found.tag
            status.nbytes = found.buffer.raw.size
        return found is not None

    def Probe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> bool:
        """Wait until a message is there that such a receive would take."""
        return self._probe("Probe", source, tag, status, wait=True)

    def Iprobe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> bool:
        """Whether a message is there that such a receive would take."""
        return self._probe("Iprobe", source, tag, status, wait=False)

    def probe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> bool:
        """Probe for an object."""
        return self._probe("probe", source, tag, status, wait=True)

    def iprobe(self, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None) -> bool:
        """Iprobe for an object."""
        return self._probe("iprobe", source, tag, status, wait=False)
