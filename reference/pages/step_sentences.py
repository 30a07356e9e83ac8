"""What happens in a step of an all-reduce, in words: "Every rank sends one block to its right neighbour and adds ..."

Idea      Name the pattern if all ranks do alike, else who sends to whom; then tell one message with its numbers.
"""

from __future__ import annotations

from typing import NamedTuple

MOST_WAYS = 8  # messages named in one sentence; of more, only how many


class Transfer(NamedTuple):
    """One message, of the blocks lo, ..., hi - 1, from `source` to `to`; it travels from `start` to `end` (seconds).

    counts    how many ranks' data are in it: (least, most) over its blocks
    combine   whether the receiver adds it to what is there; else it takes its place
    done      when the receiver has taken it in (seconds)
    """

    source: int
    to: int
    start: float
    end: float
    nbytes: int
    lo: int
    hi: int
    counts: tuple[int, int]
    combine: bool
    done: float


def listing(things: list[str]) -> str:
    """The things as one says them: "a", "a and b", "a, b and c"."""
    *most, last = things
    return f"{', '.join(most)} and {last}" if most else last


def payload(messages: list[Transfer], blocks: int) -> str:
    """How much each of the messages carries."""
    sizes = sorted({message.hi - message.lo for message in messages})
    if blocks == 1:
        return "the whole array"
    if sizes == [blocks]:
        return f"all {blocks} blocks"
    return "one block" if sizes == [1] else f"{' or '.join(map(str, sizes))} blocks"


def pattern(messages: list[Transfer], ranks: int) -> str | None:
    """What every rank does, if all do alike, with {} for what they send; else None."""
    pairs = {(message.source, message.to) for message in messages}
    apart = {abs(to - source) for source, to in pairs}
    ahead = {(to - source) % ranks for source, to in pairs}
    if len(messages) != ranks or len({source for source, _ in pairs}) != ranks:
        return None
    if len(apart) == 1 and pairs == {(to, source) for source, to in pairs}:
        return f"exchanges {{}} with the rank {'next to it' if apart == {1} else f'{min(apart)} away'}"
    if len(ahead) == 1:
        neighbour = {1: "its right neighbour", ranks - 1: "its left neighbour"}
        return f"sends {{}} to {neighbour.get(min(ahead), f'the rank {min(ahead)} ahead')}"
    return None


def tell(messages: list[Transfer], ranks: int, blocks: int) -> str:
    """One sentence on all messages of a step."""
    what, alike = payload(messages, blocks), pattern(messages, ranks)
    combine = {message.combine for message in messages}
    if alike:
        then = "adds what comes" if combine == {True} else "replaces its own by what comes"
        return f"Every rank {alike.format(what)} and {then if len(combine) == 1 else 'takes in what comes'}."
    ways = [f"{message.source} to {message.to}" for message in messages]
    ways = ways[:MOST_WAYS] + [f"{len(ways) - MOST_WAYS} more"] * (len(ways) > MOST_WAYS)
    one = what in ("the whole array", "one block")
    each = " each" if len(messages) > 1 and blocks > 1 else ""
    goes, it_is, replaces = ("goes", "it is", "it replaces") if one else ("go", "they are", "they replace")
    there = f"{it_is} added" if combine == {True} else f"{replaces} what was there"
    there = there if len(combine) == 1 else f"{it_is} taken in"
    return f"{what.capitalize()}{each} {goes} from rank {listing(ways)}, where {there}."


def blocks_of(message: Transfer, blocks: int) -> str:
    """What a message carries, by name: "block 3", "blocks 4–7", "whole array"."""
    if blocks == 1:
        return "whole array"
    last = (message.hi - 1) % blocks  # a range may go on at block 0
    return f"block {message.lo}" if message.hi - message.lo == 1 else f"blocks {message.lo}–{last}"


def counts_of(message: Transfer) -> str:
    """How many ranks' data are in a message: "3", or "1–4" if its blocks differ."""
    least, most = message.counts
    return str(most) if least == most else f"{least}–{most}"


def example(message: Transfer, blocks: int) -> str:
    """One message of a step, told with its numbers."""
    what = "its array" if blocks == 1 else blocks_of(message, blocks)
    data = f"the data of {counts_of(message)} rank{'s' if message.counts != (1, 1) else ''} in it"
    return f"Rank {message.source} sends {what}, with {data}, to rank {message.to}."


def progress(complete: int, cells: int) -> str:
    """How far the whole has come."""
    if complete in (0, cells):
        return "No cell is complete yet." if complete == 0 else "Now every cell is complete."
    return f"Now {complete} of {cells} cells {'is' if complete == 1 else 'are'} complete."
