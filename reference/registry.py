"""A registry: the records of one kind of technique, by name. Whatever lists, chooses, runs or tests them asks it.

Idea      All that is known of a technique stands in one record next to its code: what makes it, its formulas and where
          they hold, its options and conditions, its names elsewhere. A record is a dataclass whose fields have no
          defaults, so what is forgotten is a TypeError when the module is imported. A registry is the one list of the
          records of a kind. Command lines, drawings, tests and the tables of the book go through it, so that a new
          technique is in all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Generic, Protocol, TypeVar


class Named(Protocol):
    """What a registry asks of a record."""

    @property
    def name(self) -> str:
        """By which it is chosen."""


Record = TypeVar("Record", bound=Named)


class Registry(Mapping[str, Record], Generic[Record]):
    """Records by name, in the order in which they are listed. kind: what they are, for messages.

    Raises ValueError for two names that differ only in how they are spelt.
    """

    def __init__(self, kind: str, records: Iterable[Record]):
        self.kind, self._records = kind, {}
        for record in records:
            if _plain(record.name) in map(_plain, self._records):
                raise ValueError(f"there is a {kind} {record.name!r} already: take another name")
            self._records[record.name] = record

    def __getitem__(self, name: str) -> Record:
        return self._records[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._records)

    def __len__(self) -> int:
        return len(self._records)

    def canonical_name(self, text: str) -> str:
        """The name, however it is spelt: "zb-v" for "ZB-V". Raises ValueError, with all names, if there is none."""
        return canonical_name(self.kind, self, text)


def canonical_name(kind: str, names: Iterable[str], text: str) -> str:
    """Which of the names is meant by a text; capitals, spaces and signs do not count. Raises ValueError for none."""
    known = list(names)
    for name in known:
        if _plain(name) == _plain(text):
            return name
    raise ValueError(f"there is no {kind} {text!r}; choose from {', '.join(known)}")


def _plain(text: str) -> str:
    """Its letters and digits alone."""
    return re.sub(r"[\W_]", "", text.lower())
