"""The virtual communicator's messages of objects: the lower-case sends and receives, pickled."""

from __future__ import annotations

import warnings
from operator import index

from ... import mpi
from .. import spelling
from ..buffers import as_buffer
from .in_turn import ScheduledMessages
from .objects import pack
from .requests import VirtualRequest

OBJECT_BYTES = 32_768  # mpi4py's memory for the object of an irecv (rc.irecv_bufsz)


class ObjectMessages(ScheduledMessages):
    """A communicator's messages of objects."""

    def send(self, obj, dest, tag=0):
        """Send an object, pickled."""
        self._send("send", pack(obj), dest, tag)

    def ssend(self, obj, dest, tag=0):
        """Ssend of an object."""
        self._send("ssend", pack(obj), dest, tag, synchronous=True)

    def recv(self, buf=None, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None):
        """Receive an object, of any size: memory for it is not looked at, as in mpi4py."""
        if buf is not None:
            warnings.warn("the 'buf' argument is deprecated", UserWarning, stacklevel=2)
        return self._receive("recv", None, source, tag, status)

    def sendrecv(
        self,
        sendobj,
        dest,
        sendtag=0,
        recvbuf=None,
        source=mpi.ANY_SOURCE,
        recvtag=mpi.ANY_TAG,
        status=None,
    ):
        """Sendrecv of objects."""
        return self._exchange("sendrecv", pack(sendobj), dest, sendtag, None, source, recvtag, status)

    def isend(self, obj, dest, tag=0) -> VirtualRequest:
        """Isend of an object."""
        return self._isend("isend", pack(obj), dest, tag)

    def issend(self, obj, dest, tag=0) -> VirtualRequest:
        """Issend of an object."""
        return self._isend("issend", pack(obj), dest, tag, synchronous=True)

    def irecv(self, buf=None, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG) -> VirtualRequest:
        """Irecv of an object; the request's wait() returns it.

        As with mpi4py, its pickle must fit into the memory given: `buf`, or that many bytes, or else 32,768.
        """
        most = OBJECT_BYTES if buf is None else index(buf) if hasattr(buf, "__index__") else as_buffer(buf).raw.size
        self._enter("irecv", spelling.arguments, source, tag)
        return VirtualRequest(self, self._post_receive(None, source, tag, most=most))
