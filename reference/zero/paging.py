"""Paging: keys and values of sequences that grow, in one memory, with and without adjacent bytes for each.

Idea      A server that generates text keeps the keys and values of every token of every sequence that is under way.
          How long a sequence will become nobody knows. If its keys must be adjacent, there has to be room for the
          longest sequence there can be, and most of it stays empty. PagedAttention keeps a table for each sequence,
          from its tokens to pages of 16 tokens or so, which may lie anywhere: a page is taken when the one before it
          is full. What is lost is less than a page a sequence. If no page is free, the sequence that began last gives
          its pages back. When there is room again its keys and values are computed anew.
Before    longest tokens a sequence, from begin to end
After     tokens so far, rounded up to a page
Left out  Pages that several sequences share; the time that a step takes; that a longer batch takes longer.
Source    Kwon et al., "Efficient Memory Management for Large Language Model Serving with PagedAttention" (2023).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from .allocator import Allocator, Heap, OutOfMemory, Pages


class Request(NamedTuple):
    """A prompt of so many tokens, and how many will be generated, which nobody knows beforehand."""

    prompt: int
    output: int


class Served(NamedTuple):
    """steps: tokens generated one after the other by the batch; running: sequences a step, on average.

    filled: the share of the capacity in which a token's keys and values lie; of_reserved: that of what is reserved;
    stops: how often a sequence gave its pages back.
    """

    steps: int
    running: float
    filled: float
    of_reserved: float
    stops: int


@dataclass
class Running:
    """A sequence that is under way: its request, its tokens so far, and where they have room."""

    request: Request
    tokens: int
    room: int
    places: list[int] = field(default_factory=list)


def serve(requests: Sequence[Request], capacity: int, longest: int, page: int = 0) -> Served:
    """Generate all, first come first served, in a memory for `capacity` tokens.

    page 0: adjacent room for `longest` tokens each, first fit; else pages of so many tokens.
    Raises ValueError for a request that is longer than `longest`, or than the memory less one page.
    """
    if any(sum(request) > min(longest, capacity - page) for request in requests):
        raise ValueError(f"a sequence is longer than {longest} tokens, or does not fit into {capacity}")
    memory: Allocator = Pages(page, capacity) if page else Heap("first", capacity)
    waiting, running, totals, steps, stops = list(requests), [], [0, 0.0, 0.0], 0, 0
    while waiting or running:
        while waiting and (sequence := admit(memory, waiting[0], longest, page)):
            running.append(sequence)
            waiting.pop(0)
        grown = 0
        while grown < len(running):  # one token each; who finds no room waits until the last one has left
            if grow(memory, running[grown], page):
                grown += 1
            else:
                stopped = leave(memory, running.pop())
                waiting.insert(0, Request(stopped.tokens, sum(stopped.request) - stopped.tokens))
                stops += 1
        tokens = sum(sequence.tokens for sequence in running)
        reserved = sum(sequence.room for sequence in running)
        totals = [a + b for a, b in zip(totals, (len(running), tokens / capacity, tokens / reserved))]
        steps += 1
        for sequence in [one for one in running if one.tokens == sum(one.request)]:
            running.remove(leave(memory, sequence))
    sequences, filled, of_reserved = (total / max(steps, 1) for total in totals)
    return Served(steps, sequences, filled, of_reserved, stops)


def admit(memory: Allocator, request: Request, longest: int, page: int) -> Running | None:
    """Room for the prompt and a token, or for the longest sequence there can be; None if there is none."""
    sequence = Running(request, request.prompt, 0)
    return sequence if take(memory, sequence, page * (request.prompt // page + 1) if page else longest) else None


def grow(memory: Allocator, sequence: Running, page: int) -> bool:
    """One more token; False if it needs a page and none is free."""
    if sequence.tokens == sequence.room and not take(memory, sequence, page):
        return False
    sequence.tokens += 1
    return True


def take(memory: Allocator, sequence: Running, tokens: int) -> bool:
    """Room for so many more tokens; False if there is none."""
    try:
        sequence.places.append(memory.allocate(tokens))
    except OutOfMemory:
        return False
    sequence.room += tokens
    return True


def leave(memory: Allocator, sequence: Running) -> Running:
    """Give all room back."""
    for place in sequence.places:
        memory.free(place)
    return sequence
