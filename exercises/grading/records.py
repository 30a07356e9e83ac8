"""Records: what comes from a child through a pipe, each as its length and that much JSON. Every one is checked.

The process that writes them runs a student's code, so anything may come: junk, a length without end, kinds that do not
exist. Reading a record runs no code, and needs memory in proportion to its length, which has a limit. Whatever is not
a record as `pack` writes it, or comes after the last one that was asked for, is a Forged.
"""

from __future__ import annotations

import json
import os
import select
import time
from collections.abc import Iterator
from typing import Any, NamedTuple

LONGEST = 1 << 22  # bytes of a record; the longest that a right answer needs has 70,000
WIDTH = 8  # bytes of its length

LINE = (int, str, str)  # stacks.Line
WHERE = [(int, LINE)]  # rank and line
RAISED = {  # what endings.describe() makes of an exception
    "types": [str],
    "text": str,
    "details": str,
    "lines": [LINE],
    "ranks": [int],
    "roll_call": [(int, str, str, str)],
}
SHAPES = {"done": None, "raised": RAISED, "no mpi": RAISED, "cpu": WHERE, "wall": WHERE, "memory": WHERE}


class Forged(ValueError):
    """What came is no record, or one that nobody asked for."""


class AnswerTooLong(ValueError):
    """What a function returned is longer than any answer."""


class Record(NamedTuple):
    """`kind` is "item" or a key of SHAPES; `printed`: how many bytes the child had printed by then."""

    kind: str
    value: Any
    printed: int


def pack(kind: str, value: Any, printed: int) -> bytes:
    """A record as bytes. Raises AnswerTooLong."""
    data = json.dumps([kind, value, printed]).encode()
    if len(data) > LONGEST:
        raise AnswerTooLong(f"what it returned takes {len(data):,} bytes to send; {LONGEST:,} are allowed")
    return len(data).to_bytes(WIDTH, "big") + data


def write(pipe: int, data: bytes) -> None:
    """Write all of a record into a pipe."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(pipe, rest) :]


def receive(pipe: int, deadline: float, items: int) -> Iterator[Record]:
    """Yield the records that come through a pipe until it is closed, or the deadline by time.monotonic().

    items: how many of kind "item" are asked for; another kind is the last record. Raises Forged.
    """
    data = bytearray()
    while select.select([pipe], [], [], max(0.0, deadline - time.monotonic()))[0]:
        chunk = os.read(pipe, 1 << 16)
        if not chunk:
            return
        data += chunk
        while (record := _take(data)) is not None:
            items -= record.kind == "item"
            if items < 0:
                raise Forged("more answers than inputs")
            yield record
            if record.kind != "item":
                return


def _take(data: bytearray) -> Record | None:
    """Take the first record off `data`, if all of it is there."""
    if len(data) < WIDTH:
        return None
    length = int.from_bytes(data[:WIDTH], "big")
    if length > LONGEST:
        raise Forged(f"a record of {length:,} bytes")
    if len(data) < WIDTH + length:
        return None
    record = unpack(bytes(data[WIDTH : WIDTH + length]))
    del data[: WIDTH + length]
    return record


def unpack(data: bytes) -> Record:
    """A record from its JSON. Raises Forged if it is none."""
    try:
        kind, value, printed = json.loads(data)
    except (ValueError, TypeError, RecursionError, MemoryError) as error:
        raise Forged("not a record") from error
    known = isinstance(kind, str) and (kind == "item" or (kind in SHAPES and fits(value, SHAPES[kind])))
    if not known or not fits(printed, int) or printed < 0:
        raise Forged("a record of no known kind")
    return Record(kind, value, printed)


def fits(value: Any, shape: Any) -> bool:
    """Whether JSON has a shape.

    A shape is a type, Any, None for null, [shape of each], (shape, shape, ...), {name: shape, ...}, or
    {str: shape of each}.
    """
    if shape is Any:
        return True
    if shape is int:
        return type(value) is int and abs(value) < 1 << 63
    if isinstance(shape, type):
        return type(value) is shape
    if isinstance(shape, list):
        return isinstance(value, list) and all(fits(each, shape[0]) for each in value)
    if isinstance(shape, tuple):
        return isinstance(value, list) and len(value) == len(shape) and all(map(fits, value, shape))
    if isinstance(shape, dict) and str in shape:
        return isinstance(value, dict) and all(fits(each, shape[str]) for each in value.values())
    if isinstance(shape, dict):
        return isinstance(value, dict) and set(value) == set(shape) and all(fits(value[k], shape[k]) for k in shape)
    return value is None
