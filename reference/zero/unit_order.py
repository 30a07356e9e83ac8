"""The order in which a pass comes to units: that of the last pass foretells whose weights to gather next.

Idea      Going forward, the units follow that followed in the pass before; the first pass knows nothing. Going backward
          they come in the reverse order of their forward passes. Units that a checkpoint holds together are computed
          again in the order of their forward passes, and what came after them has had its backward pass by then.
"""

from __future__ import annotations

from collections.abc import Sequence

from .units import Unit


class UnitOrder:
    """Forward passes through units whose backward pass is to come, and the order of the last pass."""

    def __init__(self) -> None:
        self.open: list[Unit] = []
        self.last: list[Unit] = []
        self._first = 0  # where in `open` the present forward pass of the module begins

    def begin(self) -> None:
        """A forward pass of the module begins."""
        self._first = len(self.open)

    def end(self, recorded: bool) -> None:
        """It has ended; unless it was recorded, no backward pass will follow."""
        self.last = self.open[self._first :]
        if not recorded:
            del self.open[self._first :]

    def come_to(self, unit: Unit) -> None:
        """Its forward pass begins."""
        self.open.append(unit)

    def come_back_to(self, unit: Unit) -> None:
        """The backward pass is at its last forward pass: forget this one, and those after it."""
        while unit in self.open and self.open.pop() is not unit:
            pass

    def ahead(self) -> Sequence[Unit]:
        """Who follows in the forward pass."""
        return self.last[len(self.open) - self._first :]

    def behind(self) -> Sequence[Unit]:
        """Who follows in the backward pass."""
        return self.open[::-1]

    def after(self, unit: Unit) -> Sequence[Unit]:
        """Who follows this one where forward passes are computed again."""
        return self.open[len(self.open) - self.open[::-1].index(unit) :] if unit in self.open else []
