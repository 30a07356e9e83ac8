"""The module that mpi4py's tests take for `mpi4py.MPI`: this course's door, and one rank's communicators."""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

from reference import mpi
from reference.mpi.start import MPI, NotOffered
from reference.worlds.virtual import communicator, groups, probes, requests, windows

REFUSALS: list[str] = []  # what was refused in this process since the list was emptied
_refused = NotOffered.__init__


def _noted(self: NotOffered, *args: Any) -> None:
    REFUSALS.append(str(args[0]))
    _refused(self, *args)


NotOffered.__init__ = _noted  # type: ignore[method-assign]

# functions of MPI that need no communicator and no running MPI
HARMLESS = "Get_version get_vendor Get_library_version buffer memory Pickle pickle".split()


class Names(ModuleType):
    """What is common to both worlds: datatypes, operations and statuses are the door's."""

    Status, Op, Datatype = mpi.Status, mpi.Op, mpi.Datatype

    def __init__(self, comm: Any, myself: Any):
        super().__init__("mpi4py.MPI")
        self.COMM_WORLD, self.COMM_SELF = comm, myself

    def __getattr__(self, name: str) -> Any:
        value = getattr(MPI, name)
        if isinstance(value, MPI.Datatype):
            datatype = mpi.datatype(name)
            return datatype if datatype.layout else mpi.datatype("DATATYPE_NULL")  # as MPIs have it that lack a type
        if isinstance(value, MPI.Op):
            return mpi.operation(name)
        return self.other(name, value)

    def other(self, name: str, value: Any) -> Any:
        """A name of MPI that is neither a datatype nor an operation."""
        return value


class RealNames(Names):
    """On real ranks everything else is mpi4py's own."""


class Standing(type):
    """Classes that stand for mpi4py's: `offered` has their class-level calls, `instance` is what such objects are."""

    instance: type = type(None)
    offered: ClassVar[dict] = {}

    def __instancecheck__(cls, value: Any) -> bool:
        return isinstance(value, cls.instance)

    def __getattr__(cls, name: str) -> Any:
        if name in cls.offered:
            return cls.offered[name]
        raise NotOffered(f"{cls.__name__}.{name} is not one of the calls that are offered (reference.mpi.API)")

    def __call__(cls, *args: Any) -> Any:
        if args or cls.instance not in (probes.VirtualMessage, requests.VirtualRequest, requests.VirtualPrequest):
            raise NotOffered(f"{cls.__name__}(...) is not offered: such objects are made by calls")
        return cls.instance()


NOBODY = type("Nobody", (), {})  # an instance of this there is not


def standing(name: str, instance: type = NOBODY, offered: Any = None) -> type:
    """A class with that name in the place of mpi4py's."""
    return Standing(name, (), {"instance": instance, "offered": offered or {}})


def calls(kind: type, names: str) -> dict[str, Any]:
    """Methods of a class as class-level calls."""
    return {name: getattr(kind, name) for name in names.split()}


def _window(memory: Any, disp_unit: int = 1, info: Any = None, comm: Any = None) -> Any:
    """A window of as many bytes: memory of the program's own is not offered, and these tests do not look at it."""
    window = mpi.win_allocate(comm, getattr(memory, "nbytes", 0), disp_unit)
    window.Get_group = comm.Get_group
    return window


def _own_window(size: int, disp_unit: int = 1, info: Any = None, comm: Any = None) -> Any:
    return mpi.win_allocate(comm, size, disp_unit)


def _shared_window(size: int, disp_unit: int = 1, info: Any = None, comm: Any = None) -> Any:
    return mpi.win_allocate_shared(comm, size, disp_unit)


class NoMessage(probes.VirtualMessage):
    """The constant MESSAGE_NO_PROC: it can be received again and again."""

    _over = property(lambda self: False, lambda self, value: None)


class VirtualNames(Names):
    """On the virtual cluster, what stands for mpi4py's classes, and constants; functions where they are harmless."""

    Request = standing(
        "Request",
        requests.VirtualRequest,
        calls(requests.VirtualRequest, "Waitall Waitany Waitsome Testall Testany Testsome"),
    )
    Prequest = standing("Prequest", requests.VirtualPrequest, calls(requests.VirtualPrequest, "Startall"))
    Message = standing(
        "Message",
        probes.VirtualMessage,
        {
            "Probe": communicator.Communicator.Mprobe,
            "Iprobe": communicator.Communicator.Improbe,
            "probe": communicator.Communicator.mprobe,
            "iprobe": communicator.Communicator.improbe,
        },
    )
    Group = standing(
        "Group",
        groups.VirtualGroup,
        calls(groups.VirtualGroup, "Union Intersection Difference Compare Translate_ranks"),
    )
    Win = standing(
        "Win", windows.VirtualWindow, {"Create": _window, "Allocate": _own_window, "Allocate_shared": _shared_window}
    )
    Comm = standing("Comm", communicator.Communicator, {"Compare": communicator.Communicator.Compare})
    Intracomm = standing("Intracomm", communicator.Communicator)
    Cartcomm = standing("Cartcomm", communicator.CartCommunicator)

    def __init__(self, comm: Any, myself: Any):
        super().__init__(comm, myself)
        self.MESSAGE_NO_PROC = NoMessage(comm)
        self.REQUEST_NULL, self.GROUP_EMPTY = requests.VirtualRequest(), groups.VirtualGroup((), -1)

    def other(self, name: str, value: Any) -> Any:
        if hasattr(mpi, name):
            return getattr(mpi, name)
        if type(value).__name__ in mpi.nulls.REFUSED:
            return mpi.guarded(name)
        if name in HARMLESS or not callable(value) or (isinstance(value, type) and issubclass(value, BaseException)):
            return value
        if isinstance(value, type):
            return standing(name)
        raise NotOffered(f"{name} is not one of the calls that are offered (reference.mpi.API)")

    @staticmethod
    def Alloc_mem(size: int, info: Any = None) -> Any:
        return MPI.buffer.allocate(size)

    @staticmethod
    def Free_mem(memory: Any) -> None:
        memory.release()

    @staticmethod
    def Query_thread() -> int:
        return MPI.THREAD_SINGLE

    @staticmethod
    def Is_initialized() -> bool:
        return True

    @staticmethod
    def Is_finalized() -> bool:
        return False


def names(comm: Any) -> Names:
    """The module for this rank of either world."""
    if isinstance(comm, mpi.Comm):
        return RealNames(comm, comm.over(MPI.COMM_SELF, comm.logbook, "self"))
    return VirtualNames(comm, comm.Split(comm.rank))
