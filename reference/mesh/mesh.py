"""Device mesh: ranks as a grid with named axes, and a communicator for each group along one axis or several.

Idea      A layout in several dimensions gives every rank a coordinate on each axis: which copy of the model (dp), which
          pipeline stage (pp), which part of the sequence (cp), which part of each layer (tp). The ranks that differ on
          one axis only are a group along it. The rank is the coordinates read as a number with mixed bases, the last
          axis being the last digit. So the last axis is the innermost: its groups are neighbours, and share a node if
          they fit into one. A group is a rule (start, stride, how many), and needs no table of all ranks.

              Axes({"dp": 2, "pp": 2, "tp": 2})      dp 0            dp 1
                                                     tp 0   tp 1     tp 0   tp 1
                                            pp 0     0      1        4      5        tp: 0 1, 2 3, 4 5, 6 7
                                            pp 1     2      3        6      7        pp: 0 2, 1 3, 4 6, 5 7
                                                                                     dp: 0 4, 1 5, 2 6, 3 7
Exact     The names and groups are those of torch's init_device_mesh("cpu", (2, 2, 2), mesh_dim_names=("dp", "pp",
          "tp")); mesh["dp", "cp"] is torch's mesh["dp", "cp"] flattened.
Left out  Meshes whose groups differ in size from stage to stage.
Source    torch.distributed.device_mesh (PyTorch 2.13); Megatron-Core's RankGenerator orders axes in the same way, with
          the innermost first.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import Any, NamedTuple

from .. import mpi

STANDARD = ("dp", "pp", "cp", "tp")
"""The usual axes, outermost first: data, pipeline, context and tensor parallelism."""


class Stride(NamedTuple):
    """Ranks at equal distances: start, start + stride, ..., `ranks` of them."""

    start: int
    stride: int
    ranks: int

    def __iter__(self):
        return iter(range(self.start, self.start + self.stride * self.ranks, self.stride))


class Axes:
    """The axes of a mesh and their sizes, outermost first: arithmetic, without a communicator.

    sizes   axis -> how many ranks a group along it has
    strides axis -> the distance between neighbours of such a group
    size    ranks of the whole mesh

    Raises ValueError for no axis at all, and for a size below 1.
    """

    def __init__(self, sizes: Mapping[str, int]):
        if bad := [f"{name}={size}" for name, size in sizes.items() if size < 1]:
            raise ValueError(f"an axis of a mesh has at least 1 rank, got {', '.join(bad)}")
        if not sizes:
            raise ValueError("a mesh has at least one axis, got none")
        self.sizes, self.strides = dict(sizes), {}
        self.size = 1
        for name in reversed(self.sizes):
            self.strides[name] = self.size
            self.size *= self.sizes[name]

    @classmethod
    def in_order(cls, order: str, **sizes: int) -> Axes:
        """The axes in an order such as "pp-dp-cp-tp", outermost first; an axis that is not given has 1 rank.

        Raises ValueError if an axis that was given is not in the order, or twice.
        """
        names = order.split("-")
        if len(set(names)) != len(names) or not set(sizes) <= set(names):
            raise ValueError(
                f"the order {order!r} has to name each axis once: {', '.join(dict.fromkeys([*names, *sizes]))}"
            )
        return cls({name: sizes.get(name, 1) for name in names})

    def __str__(self) -> str:
        return " x ".join(f"{name} {size}" for name, size in self.sizes.items())

    def check(self, ranks: int) -> None:
        """Raise ValueError unless the sizes multiply to that many ranks."""
        if self.size != ranks:
            raise ValueError(
                f"{self} are {self.size} ranks, and {ranks} are running: start {self.size} with mpirun -n {self.size}, "
                f"or change one of the degrees so that their product is {ranks}"
            )

    def coordinates(self, rank: int) -> dict[str, int]:
        """Where a rank is on each axis. Raises ValueError for a rank outside the mesh."""
        if not 0 <= rank < self.size:
            raise ValueError(f"the mesh {self} has the ranks 0 ... {self.size - 1}, got {rank}")
        return {name: rank // self.strides[name] % size for name, size in self.sizes.items()}

    def rank(self, **coordinates: int) -> int:
        """The rank at these coordinates; 0 on an axis that is left out. Raises ValueError for one outside the mesh."""
        for name, place in coordinates.items():
            if not 0 <= place < self._known(name):
                raise ValueError(f"{name} of the mesh {self} is from 0 to {self.sizes[name] - 1}, got {place}")
        return sum(place * self.strides[name] for name, place in coordinates.items())

    def along(self, rank: int, axis: str) -> Stride:
        """The group of a rank along one axis, as a rule: it differs on that axis only."""
        size, stride = self._known(axis), self.strides[axis]
        return Stride(rank - self.coordinates(rank)[axis] * stride, stride, size)

    def ranks(self, rank: int, *axes: str) -> list[int]:
        """The group of a rank along several axes, ascending: the ranks with the same coordinates on all others."""
        found = [rank]
        for axis in dict.fromkeys(axes):
            found = [other for one in found for other in self.along(one, axis)]
        return sorted(found)

    def groups(self, *axes: str) -> list[list[int]]:
        """All groups along these axes, by their lowest ranks."""
        starts = self.ranks(0, *(name for name in self.sizes if name not in axes))
        return [self.ranks(start, *axes) for start in starts]

    def nodes(self, axis: str, ranks_per_node: int) -> int:
        """How many nodes a group along the axis lies on: the most of all groups, nodes being filled in rank order."""
        return max(len({rank // ranks_per_node for rank in group}) for group in self.groups(axis))

    def _known(self, axis: str) -> int:
        if axis not in self.sizes:
            raise ValueError(f"the mesh {self} has no axis {axis!r}; it has {', '.join(self.sizes)}")
        return self.sizes[axis]


class Mesh:
    """The ranks of a communicator on a mesh: mesh["tp"] is this rank's group along an axis, mesh["dp", "cp"] along two.

    axes       an `Axes`
    embedding  the first and the last stage of this rank's pipeline, which share a tied embedding; None on the stages
               between, and without an axis "pp"

    The groups along one axis are made at once, in the order of the axes; others when they are first asked for, which is
    collective over all ranks. Raises ValueError on every rank unless the axes multiply to the ranks.
    """

    embedding: Any = None

    def __init__(self, comm, axes: Axes):
        axes.check(comm.size)
        self.comm, self.axes = comm, axes
        self.coordinates = axes.coordinates(comm.rank)
        self._made: dict[tuple[str, ...], Any] = {}
        for axis in axes.sizes:
            self[axis]
        if "pp" in axes.sizes:
            self.embedding = self._ends()

    def coordinate(self, axis: str) -> int:
        """Where this rank is on an axis."""
        self.axes._known(axis)
        return self.coordinates[axis]

    def __getitem__(self, names: str | Sequence[str]) -> Any:
        """The communicator of this rank's group along an axis, or several; ranks in it are ordered as in the mesh."""
        axes = (names,) if isinstance(names, str) else tuple(sorted(set(names), key=list(self.axes.sizes).index))
        if axes not in self._made:
            group = self.comm.Split(min(self.axes.ranks(self.comm.rank, *axes)), self.comm.rank)
            group.Set_name("-".join(axes))
            self._made[axes] = group
        return self._made[axes]

    def size(self, *axes: str) -> int:
        """How many ranks a group along these axes has."""
        return prod(self.axes._known(axis) for axis in axes)

    def _ends(self) -> Any:
        """Collective over all ranks."""
        at_an_end = self.coordinates["pp"] in (0, self.axes.sizes["pp"] - 1)
        first = min(self.axes.ranks(self.comm.rank, "pp"))
        group = self.comm.Split(first if at_an_end else mpi.UNDEFINED, self.comm.rank)
        if not at_an_end:
            return None
        group.Set_name("embedding")
        return group
