"""What the members of one virtual communicator share."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .completion import Completion


class Context:
    """What the members of one communicator share: its ranks in the world, its name, and the collectives under way."""

    def __init__(self, key: Any, group: Sequence[int], name: str):
        self.key, self.group, self.name = key, tuple(group), name
        self.rank_of = {world: rank for rank, world in enumerate(self.group)}
        self.calls: dict[Any, CollectiveCall] = {}
        self.views: list[Any] = []  # the communicators of its members
        self.revoked: set[int] = set()  # ranks (in the world) who know that it is
        self.acked: dict[int, int] = {}  # how many failures each of them has acknowledged


class CollectiveCall:
    """The n-th collective call on a communicator: who was first, with which arguments, and who has come since."""

    def __init__(self, name: str, arguments: dict, rank: int):
        self.name, self.arguments, self.first = name, arguments, rank
        self.arrived: dict[int, Any] = {}  # rank in the group -> what it brought
        self.here: list[Completion] = []  # of those for whom the time has come (meet)
