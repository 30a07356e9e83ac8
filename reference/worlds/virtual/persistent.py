"""The virtual communicator's persistent messages: described once, begun as often as they are wanted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ... import mpi
from .. import spelling
from .point_to_point import read_message
from .probes import Probes
from .requests import VirtualPrequest


class Persistent(Probes):
    """A communicator's calls that make persistent requests."""

    def _send_init(self, name: str, buf: Any, dest: int, tag: int, synchronous: bool) -> VirtualPrequest:
        buffer = read_message(buf, dest)
        self._enter(name, spelling.sending, dest, tag, buffer)
        self._check_dest(dest, tag)

        def begin() -> Any:
            return self._post_send(replace(buffer, raw=buffer.now()), dest, tag, synchronous)

        return VirtualPrequest(self, self._me.call, begin, buffer)

    def Send_init(self, buf, dest, tag=0) -> VirtualPrequest:
        """A Send that each Start() begins."""
        return self._send_init("Send_init", buf, dest, tag, synchronous=False)

    def Ssend_init(self, buf, dest, tag=0) -> VirtualPrequest:
        """An Ssend that each Start() begins."""
        return self._send_init("Ssend_init", buf, dest, tag, synchronous=True)

    def Recv_init(self, buf, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG) -> VirtualPrequest:
        """A Recv that each Start() begins."""
        buffer = read_message(buf, source, writable=True)
        self._enter("Recv_init", spelling.arguments, source, tag, buffer)
        if source != mpi.PROC_NULL:
            self._filter(buffer, source, tag)  # what is wrong with the arguments is told here
        return VirtualPrequest(self, self._me.call, lambda: self._post_receive(buffer, source, tag), buffer)
