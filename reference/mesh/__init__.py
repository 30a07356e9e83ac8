"""Meshes: ranks in a grid with named axes, one for each way to share a training, and the groups along them.

    axes = Axes({"dp": 2, "pp": 2, "tp": 2})  # 8 ranks; the last axis is the innermost: its ranks are neighbours
    tensor_group = Mesh(comm, axes)["tp"]  # a communicator

mesh.py has both: the arithmetic of ranks and coordinates, and the communicators of the groups.
"""

from .mesh import STANDARD, Axes, Mesh

__all__ = ["STANDARD", "Axes", "Mesh"]
