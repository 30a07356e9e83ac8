"""The communicator of the virtual cluster: mpi4py's calls, carried out by the engine. Here: collectives and groups."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from math import prod
from typing import Any

from ... import mpi
from ...collectives import operations
from .. import spelling
from ..buffers import as_buffer, as_vector
from .collective import Activity, Agent, Shadows
from .completion import Arrival
from .context import CollectiveCall, Context
from .engine import Engine, Rank
from .failing import raise_failed
from .objects import OBJECT_COLLECTIVES
from .place import Call
from .plans import PLANS
from .point_to_point import Lacking
from .requests import VirtualRequest
from .ulfm import Resilient
from .windows import SharedWindow, VirtualWindow


class Communicator(Resilient):
    """A communicator of the virtual cluster, as seen by one rank. Methods, names and meanings are mpi4py's.

    The collective calls themselves are made from PLANS and COLLECTIVES, at the end of this file.
    """

    read, read_vector = staticmethod(as_buffer), staticmethod(as_vector)

    def check_root(self, root: int) -> None:
        """mpi.Exception unless `root` is a rank of this group."""
        if not 0 <= root < self.size:
            raise mpi.Exception(mpi.ERR_ROOT)

    def _register(self, name: str, arguments: dict, brought: Any = None) -> tuple[int, CollectiveCall]:
        """Check in for the group's next collective call: all ranks must make the same one, alike."""
        context, number = self._context, self._collectives
        self._collectives += 1
        if self._me.failed:
            self._all_alive()
        call = context.calls.setdefault(number, CollectiveCall(name, arguments, self.rank))
        if (call.name, call.arguments) != (name, arguments):
            self.mismatch(name, arguments, call, f"collective number {number + 1}")
        call.arrived[self.rank] = brought
        if len(call.arrived) == self.size:
            del context.calls[number]
        return number, call

    def _activity(self, name: str, arguments: dict, work: Any, buffers: Shadows | None = None) -> Activity:
        me = self._me
        me.call = Call(name, spelling.spelled, (arguments,), self._context, me.call.place)
        number, _ = self._register(name, arguments)
        context, engine = self._context, self._engine
        return Activity(Agent(engine, me, context.group, self.rank, (context.key, number)), work, buffers)

    def carry_out(self, name: str, arguments: dict, work: Any) -> Any:
        """Make a collective call from its plan (plans.py), and wait for its result."""
        activity = self._activity(name, arguments, work)
        self._engine.wait(self._me, [activity])
        activity.take_delivery()
        return activity.result

    def for_window(self) -> Communicator:
        """The same ranks for a window, which lives on when this communicator has been freed."""
        return self._member_of(("window", self._context.key, self._collectives), self._context.group, self.name)

    def win_allocate(self, nbytes: int, disp_unit: int) -> VirtualWindow:
        """Behind mpi.win_allocate."""
        self._enter("win_allocate", spelling.plainly, f"nbytes={nbytes}")
        return VirtualWindow(self, nbytes, disp_unit)

    def win_allocate_shared(self, nbytes: int, disp_unit: int) -> SharedWindow:
        """Behind mpi.win_allocate_shared."""
        self._enter("win_allocate_shared", spelling.plainly, f"nbytes={nbytes}")
        if len({self._engine.network.node(rank) for rank in self._context.group}) > 1:
            raise mpi.Exception(mpi.ERR_RMA_SHARED)
        return SharedWindow(self, nbytes, disp_unit)

    def meet(self, name: str, brought: Any, **arguments: Any) -> list:
        """What every rank of the group brought, in order of rank, once all have come. Costs no time of its own."""
        number, call = self._register(name, arguments, brought)
        mine, engine = Arrival(number), self._engine

        def arrive(time: float) -> None:
            call.here.append(mine)
            if len(call.here) == self.size:
                for completion in call.here:
                    completion.complete(engine, time)

        engine.post(self._me.clock, self._me.index, arrive)
        engine.wait(self._me, [mine])
        if engine.errors:
            raise_failed(engine, [mine])
        return [call.arrived[rank] for rank in range(self.size)]

    # Groups ----------------------------------------------------------------------------------------------------

    def _member_of(self, key: Any, group: Sequence[int], name: str, kind: type | None = None, *more: Any):
        context = self._engine.contexts.setdefault(key, Context(key, group, name))
        return (kind or Communicator)(self._engine, self._me, context, *more)

    def _split(self, name: str, color: int, key: int, label: str, kind: type | None = None, *more: Any, **alike: Any):
        number = self._collectives
        members = self.meet(name, (color, key), **alike)
        if color == mpi.UNDEFINED:
            return NullCommunicator()
        ranks = sorted((k, rank) for rank, (c, k) in enumerate(members) if c == color)
        group = [self._context.group[rank] for _, rank in ranks]
        return self._member_of((self._context.key, number, color), group, label, kind, *more)

    def Split(self, color=0, key=0) -> Communicator:
        """The communicator of all ranks that give the same color, in the order of their keys."""
        self._enter("Split", spelling.plainly, f"color={color}, key={key}")
        return self._split("Split", color, key, f"{self.name}.split({color})")

    def Split_type(self, split_type, key=0, info=None) -> Communicator:
        """The communicator of the ranks on this rank's node."""
        self._enter("Split_type", spelling.plainly, f"key={key}")
        if split_type != mpi.COMM_TYPE_SHARED:
            raise mpi.NotOffered("Split_type is offered for COMM_TYPE_SHARED only")
        node = self._engine.network.node(self._me.index)
        return self._split("Split_type", node, key, f"{self.name}.node({node})")

    def Dup(self, info=None) -> Communicator:
        """The same ranks, with messages of their own."""
        self._enter("Dup")
        return self._split("Dup", 0, self.rank, f"{self.name}.dup")

    def Create_cart(self, dims, periods=None, reorder=False) -> CartCommunicator:
        """The first prod(dims) ranks as a grid, the last dimension running fastest; COMM_NULL for the others."""
        self._enter("Create_cart", spelling.plainly, f"dims={list(dims)}")
        if prod(dims) > self.size or min(dims, default=1) < 1:
            raise mpi.Exception(mpi.ERR_DIMS)
        if periods is None or isinstance(periods, bool):
            periods = [bool(periods)] * len(dims)
        color = 0 if self.rank < prod(dims) else mpi.UNDEFINED
        grid = {"dims": list(dims), "periods": [bool(period) for period in periods]}
        label = f"{self.name}.cart"
        return self._split("Create_cart", color, self.rank, label, CartCommunicator, *grid.values(), **grid)

    def _null(self) -> NullCommunicator:
        return NullCommunicator()

    def Free(self) -> None:
        """Give the communicator up; it refuses every call from now on."""
        self._enter_always("Free")
        self.bar(mpi.ERR_COMM)


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

    def __init__(self, engine: Engine, me: Rank, context: Context, dims: list[int], periods: list[bool]):
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

        if not 0 <= direction < len(self.dims):
            raise mpi.Exception(mpi.ERR_DIMS)

        def neighbour(step: int) -> int:
            coords = self.coords
            coords[direction] += step
            inside = self.periods[direction] or 0 <= coords[direction] < self.dims[direction]
            return self.Get_cart_rank(coords) if inside else mpi.PROC_NULL

        return neighbour(-disp), neighbour(disp)

    def Sub(self, remain_dims: Sequence[bool]) -> CartCommunicator:
        """The grid of the ranks that differ from this one in the remaining dimensions only."""
        self._enter("Sub", spelling.plainly, f"remain_dims={list(remain_dims)}")
        kept = [(d, p) for d, p, remains in zip(self.dims, self.periods, remain_dims, strict=True) if remains]
        fixed = [c for c, remains in zip(self.coords, remain_dims, strict=True) if not remains]
        color = 0
        for coord, extent in zip(fixed, (d for d, r in zip(self.dims, remain_dims, strict=True) if not r), strict=True):
            color = color * extent + coord
        dims, periods = [d for d, _ in kept], [p for _, p in kept]
        label, alike = f"{self.name}.sub({color})", [bool(remains) for remains in remain_dims]
        return self._split("Sub", color, self.rank, label, CartCommunicator, dims, periods, remain_dims=alike)


def _blocking(name: str, plan: Any):
    def call(self, *args, **kwargs):
        self._enter(name)
        self.carry_out(name, *plan(self, *args, **kwargs))

    return call


def _nonblocking(name: str, plan: Any):
    def call(self, *args, **kwargs) -> VirtualRequest:
        self._enter(name)
        buffers = Shadows(self)
        return VirtualRequest(self, self._activity(name, *plan(buffers, *args, **kwargs), buffers))

    return call


def _operation(op: Any) -> str:
    """What an operation on objects is called, so that ranks can be compared: MPI's name, or the function's own."""
    if isinstance(op, mpi.MPI.Op):
        return getattr(op, "name", "") or operations.name(op)
    return getattr(op, "__name__", type(op).__name__)


def _of_objects(name: str, work: Any):
    signature = inspect.signature(work)

    def call(self, *args, **kwargs):
        self._enter(name)
        bound = signature.bind(None, *args, **kwargs)
        bound.apply_defaults()
        named = {}
        if "root" in bound.arguments:
            named["root"] = bound.arguments["root"]
            self.check_root(**named)
        if "op" in bound.arguments:
            named["op"] = _operation(bound.arguments["op"])
        return self.carry_out(name, named, lambda agent: work(agent, *args, **kwargs))

    return call


def _install(name: str, call: Any, source: Any) -> None:
    call.__name__, call.__doc__ = name, source.__doc__
    setattr(Communicator, name, call)


for _name, _plan in PLANS.items():
    _install(_name, _blocking(_name, _plan), _plan)
    _install("I" + _name.lower(), _nonblocking("I" + _name.lower(), _plan), _plan)
for _name, _work in OBJECT_COLLECTIVES.items():
    _install(_name, _of_objects(_name, _work), _work)
for _like in (mpi.MPI.Intracomm, mpi.MPI.Intercomm, mpi.MPI.Cartcomm, mpi.MPI.Graphcomm, mpi.MPI.Distgraphcomm):
    for _name in dir(_like):
        if not hasattr(Communicator, _name):
            setattr(Communicator, _name, Lacking(_name))
