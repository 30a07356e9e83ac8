"""The communicator of the virtual cluster: mpi4py's calls, carried out by the engine."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from functools import cache
from math import prod
from pathlib import Path
from typing import Any

from .. import mpi
from . import report
from .buffers import Buffer, read
from .collective import PLANS, Activity, Agent
from .engine import Completion, Engine, Rank, Request
from .errors import CollectiveMismatch
from .objects import COLLECTIVES, pack, unpack

_PACKAGE = Path(__file__).parents[1]
_MACHINERY = tuple(str(_PACKAGE / part) for part in ("worlds", "collectives", "mpi.py"))


@cache
def _is_machinery(filename: str) -> bool:
    """Whether a call from this file is not the program's own line."""
    return filename.startswith(_MACHINERY)


class Context:
    """What the members of one communicator share: its ranks in the world, its name, and the collectives under way."""

    def __init__(self, key: Any, group: Sequence[int], name: str):
        self.key, self.group, self.name = key, tuple(group), name
        self.rank_of = {world: rank for rank, world in enumerate(self.group)}
        self.calls: dict[int, CollectiveCall] = {}


class CollectiveCall:
    """The n-th collective call on a communicator: who was first, with which arguments, and who has come since."""

    def __init__(self, name: str, arguments: dict, rank: int):
        self.name, self.arguments, self.first = name, arguments, rank
        self.arrived: dict[int, Any] = {}  # rank in the group -> what it brought
        self.here: list[Completion] = []  # of those for whom the time has come (meet)


class Communicator:
    """A communicator of the virtual cluster, as seen by one rank. Methods, names and meanings are mpi4py's."""

    def __init__(self, engine: Engine, me: Rank, context: Context):
        self._engine, self._me, self._context = engine, me, context
        self._collectives, self._freed = 0, False
        self.rank, self.size = context.rank_of[me.index], len(context.group)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise NotImplementedError(f"{name} is not one of the calls that the virtual cluster offers (reference.mpi.API)")

    def __bool__(self) -> bool:
        return not self._freed

    def __repr__(self) -> str:
        return f"<{self.name}: rank {self.rank} of {self.size}>"

    # Who and when ----------------------------------------------------------------------------------------------

    def Get_rank(self) -> int:
        """This rank's number in the group."""
        return self.rank

    def Get_size(self) -> int:
        """The number of ranks in the group."""
        return self.size

    def Get_name(self) -> str:
        """The group's name: what timelines and roll calls print."""
        return self._context.name

    def Set_name(self, name: str) -> None:
        """Name the group."""
        self._context.name = name

    name = property(Get_name, Set_name)

    def wtime(self) -> float:
        """This rank's clock in seconds."""
        return self._me.clock

    def compute(self, seconds: float, reduced: int = 0) -> None:
        """Behind mpi.compute."""
        if seconds < 0:
            raise ValueError(f"a computation cannot take {seconds} s")
        self._engine.check()
        self._me.clock = self._engine.computed(self._me, self._me.clock, seconds, reduced)

    def sleep(self, seconds: float) -> None:
        """Behind mpi.sleep."""
        if seconds < 0:
            raise ValueError(f"cannot sleep for {seconds} s")
        self._engine.check()
        self._me.clock += seconds

    def _enter(self, name: str, describe: Callable[..., str] = report.plainly, *values: Any) -> None:
        """Note what this rank is about to call, with describe(*values) as its arguments, and from where."""
        self._engine.check()
        if self._freed:
            raise mpi.Exception(mpi.ERR_COMM)
        me, frame = self._me, sys._getframe(2)
        while _is_machinery(frame.f_code.co_filename):
            frame = frame.f_back
        me.calls[name] += 1
        me.call, me.group = report.Call(name, describe, values), self._context
        me.where = frame.f_code.co_filename, frame.f_lineno

    # Point to point --------------------------------------------------------------------------------------------

    def _check_dest(self, dest: int, tag: int) -> None:
        if not 0 <= tag <= mpi.TAG_LIMIT:
            raise mpi.Exception(mpi.ERR_TAG)
        if dest != mpi.PROC_NULL and not 0 <= dest < self.size:
            raise mpi.Exception(mpi.ERR_RANK)

    def _post_send(self, buffer: Buffer, dest: int, tag: int, synchronous: bool = False) -> Completion:
        self._check_dest(dest, tag)
        if dest == mpi.PROC_NULL:
            return self._nothing()
        synchronous = synchronous or not self._engine.buffered
        request = Request(self._me, self._context.group[dest], tag, self._context.key, buffer, synchronous=synchronous)
        self._engine.send(self._me.clock, self._me, request)
        return request

    def _filter(self, buffer: Buffer | None, source: int, tag: int, blocking: bool = False) -> Request:
        """A receive that has not been posted yet."""
        if tag != mpi.ANY_TAG and not 0 <= tag <= mpi.TAG_LIMIT:
            raise mpi.Exception(mpi.ERR_TAG)
        if source != mpi.ANY_SOURCE:
            if not 0 <= source < self.size:
                raise mpi.Exception(mpi.ERR_RANK)
            source = self._context.group[source]
        return Request(self._me, source, tag, self._context.key, buffer, blocking)

    def _post_receive(self, buffer: Buffer | None, source: int, tag: int, blocking: bool = False) -> Completion:
        if source == mpi.PROC_NULL:
            return self._nothing()
        request = self._filter(buffer, source, tag, blocking)
        self._engine.receive(self._me.clock, request)
        return request

    def _nothing(self) -> Completion:
        nothing = Completion()
        nothing.done_at = self._me.clock
        return nothing

    def _finish(self, completion: Completion, status: mpi.Status | None) -> Any:
        """Take delivery of a completed request; the object it carried, if it carried one."""
        completion.take_delivery()
        received = isinstance(completion, Request)
        if status is not None:
            source, tag, nbytes = completion.status if received else (mpi.PROC_NULL, mpi.ANY_TAG, 0)
            status.source, status.tag, status.nbytes = self._context.rank_of.get(source, source), tag, nbytes
        if received and completion.buffer is None:
            return unpack(completion.parcel)
        return getattr(completion, "result", None)

    def _send(self, name: str, buffer: Buffer, dest: int, tag: int, synchronous: bool = False) -> None:
        self._enter(name, report.sending, dest, tag, buffer)
        self._engine.wait(self._me, [self._post_send(buffer, dest, tag, synchronous)])

    def _isend(self, name: str, buffer: Buffer, dest: int, tag: int, synchronous: bool = False) -> VirtualRequest:
        self._enter(name, report.sending, dest, tag, buffer)
        return VirtualRequest(self, self._post_send(buffer, dest, tag, synchronous))

    def _receive(self, name: str, buffer: Buffer | None, source: int, tag: int, status: mpi.Status | None) -> Any:
        self._enter(name, report.arguments, source, tag, buffer)
        request = self._post_receive(buffer, source, tag, blocking=True)
        self._engine.wait(self._me, [request])
        return self._finish(request, status)

    def _ireceive(self, name: str, buffer: Buffer | None, source: int, tag: int) -> VirtualRequest:
        self._enter(name, report.arguments, source, tag, buffer)
        return VirtualRequest(self, self._post_receive(buffer, source, tag))

    def _exchange(self, name, outgoing, dest, sendtag, incoming, source, recvtag, status) -> Any:
        self._enter(name, report.exchanging, dest, sendtag, source, recvtag, incoming)
        self._check_dest(dest, sendtag)  # before the receive is posted: a refused call leaves nothing behind
        receive = self._post_receive(incoming, source, recvtag, blocking=True)
        self._engine.wait(self._me, [receive, self._post_send(outgoing, dest, sendtag)])
        return self._finish(receive, status)

    def Send(self, buf, dest, tag=0):
        """Send; returns when the receive has taken it (at once with buffered=True)."""
        self._send("Send", read(buf), dest, tag)

    def Ssend(self, buf, dest, tag=0):
        """Send; returns when the receive has taken it, always."""
        self._send("Ssend", read(buf), dest, tag, synchronous=True)

    def Recv(self, buf, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None):
        """Receive into `buf`."""
        self._receive("Recv", read(buf, writable=True), source, tag, status)

    def Sendrecv(
        self,
        sendbuf,
        dest,
        sendtag=0,
        recvbuf=None,
        source=mpi.ANY_SOURCE,
        recvtag=mpi.ANY_TAG,
        status=None,
    ):
        """Send and receive at once: neither waits for the other."""
        incoming = read(recvbuf, writable=True)
        self._exchange("Sendrecv", read(sendbuf), dest, sendtag, incoming, source, recvtag, status)

    def Isend(self, buf, dest, tag=0) -> VirtualRequest:
        """Begin to send; `buf` must not change until the request is complete."""
        return self._isend("Isend", read(buf), dest, tag)

    def Issend(self, buf, dest, tag=0) -> VirtualRequest:
        """Isend that is complete only when a receive has taken the message."""
        return self._isend("Issend", read(buf), dest, tag, synchronous=True)

    def Irecv(self, buf, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG) -> VirtualRequest:
        """Begin to receive; `buf` holds the message when the request is complete, and not before."""
        return self._ireceive("Irecv", read(buf, writable=True), source, tag)

    def send(self, obj, dest, tag=0):
        """Send an object, pickled."""
        self._send("send", pack(obj), dest, tag)

    def ssend(self, obj, dest, tag=0):
        """Ssend of an object."""
        self._send("ssend", pack(obj), dest, tag, synchronous=True)

    def recv(self, buf=None, source=mpi.ANY_SOURCE, tag=mpi.ANY_TAG, status=None):
        """Receive an object."""
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
        """Irecv of an object; the request's wait() returns it."""
        return self._ireceive("irecv", None, source, tag)

    def _probe(self, name: str, source: int, tag: int, status: mpi.Status | None, wait: bool) -> bool:
        self._enter(name, report.arguments, source, tag)
        if source == mpi.PROC_NULL:
            self._finish(self._nothing(), status)
            return True
        probe, engine = self._filter(None, source, tag), self._engine
        if wait:
            engine.post(self._me.clock, self._me.index, lambda now: engine.probe(now, probe))
            engine.wait(self._me, [probe])
        else:
            engine.poll(self._me)
        found = engine.find(probe)
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

    # Collectives (the calls themselves are made from PLANS and COLLECTIVES, below) -------------------------------

    def check_root(self, root: int) -> None:
        """mpi.Exception unless `root` is a rank of this group."""
        if not 0 <= root < self.size:
            raise mpi.Exception(mpi.ERR_ROOT)

    def _register(self, name: str, arguments: dict, brought: Any = None) -> tuple[int, CollectiveCall]:
        """Check in for the group's next collective call: all ranks must make the same one, alike."""
        context, number = self._context, self._collectives
        self._collectives += 1
        call = context.calls.setdefault(number, CollectiveCall(name, arguments, self.rank))
        if (call.name, call.arguments) != (name, arguments):
            mine = f"{name}({report.spelled(arguments)})"
            theirs = f"{call.name}({report.spelled(call.arguments)})"
            cause = (
                f"rank {self.rank} of group {self.name!r} calls {mine} as the group's collective number {number + 1}, "
                f"but rank {call.first} called {theirs} there: all ranks of a group must make the same collective "
                f"calls in the same order, with matching arguments"
            )
            self._engine.doom(CollectiveMismatch, cause)
            self._engine.stop(self._me)  # for good: the others go on as far as they get, and then the report is made
        call.arrived[self.rank] = brought
        if len(call.arrived) == self.size:
            del context.calls[number]
        return number, call

    def _activity(self, name: str, arguments: dict, work: Any) -> Activity:
        self._me.call = report.Call(name, report.spelled, (arguments,))
        number, _ = self._register(name, arguments)
        context, engine = self._context, self._engine
        return Activity(Agent(engine, self._me, context.group, self.rank, (context.key, number)), work)

    def _wait_for(self, activity: Activity) -> Any:
        self._engine.wait(self._me, [activity])
        activity.take_delivery()
        return activity.result

    def meet(self, name: str, brought: Any, **arguments: Any) -> list:
        """What every rank of the group brought, in order of rank, once all have come. Costs no time of its own."""
        _, call = self._register(name, arguments, brought)
        mine, engine = Completion(), self._engine

        def arrive(time: float) -> None:
            call.here.append(mine)
            if len(call.here) == self.size:
                for completion in call.here:
                    completion.complete(engine, time)

        engine.post(self._me.clock, self._me.index, arrive)
        engine.wait(self._me, [mine])
        return [call.arrived[rank] for rank in range(self.size)]

    # Groups ----------------------------------------------------------------------------------------------------

    def _member_of(self, key: Any, group: Sequence[int], name: str, kind: type | None = None, *more: Any):
        context = self._engine.contexts.setdefault(key, Context(key, group, name))
        return (kind or Communicator)(self._engine, self._me, context, *more)

    def _split(self, name: str, color: int, key: int, label: str, kind: type | None = None, *more: Any):
        number = self._collectives
        members = self.meet(name, (color, key))
        if color == mpi.UNDEFINED:
            return NullCommunicator()
        ranks = sorted((k, rank) for rank, (c, k) in enumerate(members) if c == color)
        group = [self._context.group[rank] for _, rank in ranks]
        return self._member_of((self._context.key, number, color), group, label, kind, *more)

    def Split(self, color=0, key=0) -> Communicator:
        """The communicator of all ranks that give the same color, in the order of their keys."""
        self._enter("Split", report.plainly, f"color={color}, key={key}")
        return self._split("Split", color, key, f"{self.name}.split({color})")

    def Split_type(self, split_type, key=0, info=None) -> Communicator:
        """The communicator of the ranks on this rank's node."""
        self._enter("Split_type", report.plainly, f"key={key}")
        if split_type != mpi.COMM_TYPE_SHARED:
            raise NotImplementedError("Split_type is offered for COMM_TYPE_SHARED only")
        node = self._engine.network.node(self._me.index)
        return self._split("Split_type", node, key, f"{self.name}.node({node})")

    def Dup(self, info=None) -> Communicator:
        """The same ranks, with messages of their own."""
        self._enter("Dup")
        return self._split("Dup", 0, self.rank, f"{self.name}.dup")

    def Create_cart(self, dims, periods=None, reorder=False) -> CartCommunicator:
        """The first prod(dims) ranks as a grid, the last dimension running fastest; COMM_NULL for the others."""
        self._enter("Create_cart", report.plainly, f"dims={list(dims)}")
        if prod(dims) > self.size or min(dims, default=1) < 1:
            raise mpi.Exception(mpi.ERR_DIMS)
        periods = [False] * len(dims) if periods is None else [bool(period) for period in periods]
        color = 0 if self.rank < prod(dims) else mpi.UNDEFINED
        grid = tuple(dims), tuple(periods)
        return self._split("Create_cart", color, self.rank, f"{self.name}.cart", CartCommunicator, *grid)

    def Free(self) -> None:
        """Give the communicator up; it refuses every call from now on."""
        self._enter("Free")
        self._freed = True


class NullCommunicator:
    """What a rank gets that is in no group: equal to mpi.COMM_NULL, false, and refuses every call."""

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, NullCommunicator) or (isinstance(other, mpi.Comm) and other == mpi.COMM_NULL)

    __hash__ = None

    def __bool__(self) -> bool:
        return False

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        raise mpi.Exception(mpi.ERR_COMM)


class CartCommunicator(Communicator):
    """A communicator whose ranks form a grid."""

    def __init__(self, engine: Engine, me: Rank, context: Context, dims: tuple[int, ...], periods: tuple[bool, ...]):
        super().__init__(engine, me, context)
        self.dims, self.periods = dims, periods

    @property
    def coords(self) -> list[int]:
        """This rank's place in the grid."""
        return self.Get_coords(self.rank)

    def Get_coords(self, rank: int) -> list[int]:
        """The place of `rank` in the grid."""
        if not 0 <= rank < self.size:
            raise mpi.Exception(mpi.ERR_RANK)
        coords = []
        for extent in reversed(self.dims):
            rank, coord = divmod(rank, extent)
            coords.append(coord)
        return coords[::-1]

    def Get_cart_rank(self, coords: Sequence[int]) -> int:
        """The rank at a place; periodic dimensions wrap round."""
        rank = 0
        for coord, extent, periodic in zip(coords, self.dims, self.periods, strict=True):
            if not periodic and not 0 <= coord < extent:
                raise mpi.Exception(mpi.ERR_ARG)
            rank = rank * extent + coord % extent
        return rank

    def Shift(self, direction: int, disp: int) -> tuple[int, int]:
        """(source, dest) of a shift by `disp` along a dimension; PROC_NULL beyond an edge."""

        def neighbour(step: int) -> int:
            coords = self.coords
            coords[direction] += step
            inside = self.periods[direction] or 0 <= coords[direction] < self.dims[direction]
            return self.Get_cart_rank(coords) if inside else mpi.PROC_NULL

        return neighbour(-disp), neighbour(disp)

    def Sub(self, remain_dims: Sequence[bool]) -> CartCommunicator:
        """The grid of the ranks that differ from this one in the remaining dimensions only."""
        self._enter("Sub", report.plainly, f"remain_dims={list(remain_dims)}")
        kept = [(d, p) for d, p, remains in zip(self.dims, self.periods, remain_dims, strict=True) if remains]
        fixed = [c for c, remains in zip(self.coords, remain_dims, strict=True) if not remains]
        color = 0
        for coord, extent in zip(fixed, (d for d, r in zip(self.dims, remain_dims, strict=True) if not r), strict=True):
            color = color * extent + coord
        dims, periods = tuple(d for d, _ in kept), tuple(p for _, p in kept)
        return self._split("Sub", color, self.rank, f"{self.name}.sub({color})", CartCommunicator, dims, periods)


class VirtualRequest:
    """mpi4py's Request on the virtual cluster."""

    def __init__(self, comm: Communicator, completion: Completion):
        self._comm, self._completion = comm, completion

    def Wait(self, status=None) -> bool:
        """Wait until the request is complete."""
        self._wait("Wait", status)
        return True

    def wait(self, status=None) -> Any:
        """Wait, and return the object that came (None for a send)."""
        return self._wait("wait", status)

    def Test(self, status=None) -> bool:
        """Whether the request is complete. Asking takes time too."""
        return self._test("Test", status)[0]

    def test(self, status=None) -> tuple[bool, Any]:
        """Whether the request is complete, and the object that came."""
        return self._test("test", status)

    def _wait(self, name: str, status: mpi.Status | None) -> Any:
        if self._completion is None:
            return None
        comm, completion = self._comm, self._completion
        comm._enter(name, report.posted, completion)
        comm._engine.wait(comm._me, [completion])
        self._completion = None
        return comm._finish(completion, status)

    def _test(self, name: str, status: mpi.Status | None) -> tuple[bool, Any]:
        if self._completion is None:
            return True, None
        comm, completion = self._comm, self._completion
        comm._enter(name, report.posted, completion)
        comm._engine.poll(comm._me)
        done = completion.done_at is not None and completion.done_at <= comm._me.clock
        comm._engine.polled(comm._me, done)
        if not done:
            return False, None
        self._completion = None
        return True, comm._finish(completion, status)

    @staticmethod
    def Waitall(requests: Sequence[VirtualRequest], statuses=None) -> bool:
        """Wait until all are complete; what mpi.waitall calls."""
        active = [request for request in requests if request._completion is not None]
        if active:
            comm = active[0]._comm
            comm._enter("Waitall", report.plainly, f"{len(active)} requests")
            comm._engine.wait(comm._me, [request._completion for request in active])
        for number, request in enumerate(requests):
            if request._completion is not None:
                completion, request._completion = request._completion, None
                request._comm._finish(completion, statuses[number] if statuses else None)
        return True

    @staticmethod
    def Waitany(requests: Sequence[VirtualRequest], status=None) -> int:
        """Wait until one is complete and return its index; what mpi.waitany calls."""
        active = [number for number, request in enumerate(requests) if request._completion is not None]
        if not active:
            return mpi.UNDEFINED
        comm = requests[active[0]]._comm
        comm._enter("Waitany", report.plainly, f"{len(active)} requests")
        comm._engine.wait(comm._me, [requests[number]._completion for number in active], any_one=True)
        known = [number for number in active if requests[number]._completion.done_at is not None]
        first = min(known, key=lambda number: requests[number]._completion.done_at)
        completion, requests[first]._completion = requests[first]._completion, None
        requests[first]._comm._finish(completion, status)
        return first


def _blocking(name: str, plan: Any):
    def call(self, *args, **kwargs):
        self._enter(name)
        self._wait_for(self._activity(name, *plan(self, *args, **kwargs)))

    return call


def _nonblocking(name: str, plan: Any):
    def call(self, *args, **kwargs) -> VirtualRequest:
        self._enter(name)
        return VirtualRequest(self, self._activity(name, *plan(self, *args, **kwargs)))

    return call


def _of_objects(name: str, work: Any):
    signature = inspect.signature(work)

    def call(self, *args, **kwargs):
        self._enter(name)
        bound = signature.bind(None, *args, **kwargs)
        bound.apply_defaults()
        named = {"root": bound.arguments["root"]} if "root" in bound.arguments else {}
        if named:
            self.check_root(**named)
        return self._wait_for(self._activity(name, named, lambda agent: work(agent, *args, **kwargs)))

    return call


def _install(name: str, call: Any, source: Any) -> None:
    call.__name__, call.__doc__ = name, source.__doc__
    setattr(Communicator, name, call)


for _name, _plan in PLANS.items():
    _install(_name, _blocking(_name, _plan), _plan)
    _install("I" + _name.lower(), _nonblocking("I" + _name.lower(), _plan), _plan)
for _name, _work in COLLECTIVES.items():
    _install(_name, _of_objects(_name, _work), _work)
