"""2.5-D matrix product: c copies of A and B on c layers of q x q ranks, to send less than without copies.

Idea      Cannon's algorithm has q steps, and their order is free. With c copies of A and B, each on a layer of q x q
          ranks, layer l does the steps l q / c ... (l + 1) q / c - 1, and the layers' terms are added up. Memory is
          spent to save messages: c = 1 is Cannon's, c = q the three-dimensional product.
Sends     A copy for each other layer (broadcast down), q / c - 1 shifts and a skew in each layer, and a sum over the
          layers: volume.py has the bytes. P = c q^2.
Price     c times the memory for A, B, C.
Exact     c divides q; else ValueError on every rank.
Source    Solomonik and Demmel, "Communication-Optimal Parallel 2.5D Matrix Multiplication and LU Factorization
          Algorithms" (2011), algorithm 2.
"""

from __future__ import annotations

from torch import Tensor

from .cannon import cannon
from .summa import Grid, broadcast, summed


class Layers:
    """c layers of q x q ranks: rank l q^2 + i q + j is at (i, j) of layer l."""

    def __init__(self, comm, layers: int):
        if layers < 1 or comm.size % layers:
            raise ValueError(f"{comm.size} ranks cannot make {layers} layers: the number of layers has to divide them")
        each = comm.size // layers
        self.layer, place = divmod(comm.rank, each)
        self.grid = Grid(comm.Split(self.layer, place))
        if self.grid.q % layers:
            raise ValueError(f"{layers} layers cannot share {self.grid.q} steps: the layers have to divide them")
        self.layers, self.depth = layers, comm.Split(layers + place, self.layer)


def two_and_half(layers: Layers, a: Tensor, b: Tensor) -> Tensor | None:
    """C = A B in layer 0, None in the others. a [m/q, k/q], b [k/q, n/q]; of the others only the shapes count."""
    a, b = broadcast(layers.depth, a, 0), broadcast(layers.depth, b, 0)
    steps = layers.grid.q // layers.layers
    return summed(layers.depth, cannon(layers.grid, a, b, layers.layer * steps, steps), 0)
