"""Schedules of compression: what is compressed together, and what first: layer by layer, chunk by chunk, by priority.

Idea      A gradient passes through three machines: it is encoded, sent, and decoded. Each works on one part at a time,
          first come first served or by priority, and all three work at once, on different parts. So a schedule is
          which bytes form a part, when it is ready, and its rank in the queues; what comes of it `compressed_timeline`
          tells, by the port of networks/priority.py, three times in a row.
          whole          one part when the backward pass is through: the machines wait for each other
          layer_wise     a part for each layer, when its gradient is there: as many starts as layers, and the largest
                         layer is encoded, sent and decoded one after the other
          chunk_wise     the gradient, last layer first, cut every so many bytes: small layers share a start, large ones
                         fill all three machines at once
          priority_wise  chunks, but what the next forward pass needs first overtakes in all three queues
Price     A start each, for encoding (a kernel launch, a partial sort), for a message, for decoding.
Exact     A schedule also changes what is sent. Top-k of a layer sends a share of each layer; top-k of everything sends
          what is largest anywhere, and of some layers perhaps nothing for a long time.
Left out  That encoding takes cores or an accelerator from the backward pass: here it has its own
          (step_time.compressed_step has it on the same device). Agreement: all ranks must send in one order, so they
          must compute one and the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..data_parallel.layers import Layer
from ..networks.priority import Forward, QueuedMessage, Span, by_queue, finish, next_forward, serve


class Part(NamedTuple):
    """What is encoded and sent as one: bytes of some layers (layer -> bytes), ready at (s), the lower queue first."""

    name: str
    of: dict[int, int]
    ready: float
    queue: int

    @property
    def nbytes(self) -> int:
        """Bytes, uncompressed."""
        return sum(self.of.values())


class CodecCosts(NamedTuple):
    """Starts in seconds, the rest in seconds per byte of uncompressed gradient; `ratio` of it is on the wire."""

    encode_start: float
    encode: float
    ratio: float
    alpha: float
    beta: float
    decode_start: float
    decode: float


class Timing(NamedTuple):
    """What the three machines do when, by part; and the forward pass that comes next."""

    encoding: list[Span]
    sending: list[Span]
    decoding: list[Span]
    forward: Forward


def ready_times(layers: Sequence[Layer]) -> list[float]:
    """When the gradient of each layer is there, in seconds after the backward pass has begun with the last one."""
    return [sum(layer.backward for layer in layers[i:]) for i in range(len(layers))]


def whole(layers: Sequence[Layer]) -> list[Part]:
    """Everything at once."""
    return [Part("all", {i: layer.nbytes for i, layer in enumerate(layers)}, ready_times(layers)[0], 0)]


def layer_wise(layers: Sequence[Layer]) -> list[Part]:
    """A part for each layer, the last layer first."""
    ready = ready_times(layers)
    order = list(reversed(range(len(layers))))
    return [Part(layers[i].name, {i: layers[i].nbytes}, ready[i], place) for place, i in enumerate(order)]


def chunk_wise(layers: Sequence[Layer], chunk: int) -> list[Part]:
    """The bytes of all layers, the last layer first, cut every `chunk` bytes. Raises ValueError unless chunk > 0."""
    if chunk <= 0:
        raise ValueError(f"a chunk must have more than 0 bytes, not {chunk}")
    ready, parts, room = ready_times(layers), [], 0
    for i in reversed(range(len(layers))):
        left = layers[i].nbytes
        while left:
            if not room:
                parts.append(Part(f"chunk {len(parts)}", {}, 0.0, len(parts)))
                room = chunk
            taken = min(left, room)
            parts[-1].of[i] = taken
            parts[-1] = parts[-1]._replace(ready=ready[i])  # it waits for the last that joins it
            left, room = left - taken, room - taken
    return parts


def priority_wise(layers: Sequence[Layer], chunk: int) -> list[Part]:
    """The same chunks; the one with the first layer in it overtakes all that have not begun."""
    return [part._replace(queue=min(part.of)) for part in chunk_wise(layers, chunk)]


def compressed_timeline(layers: Sequence[Layer], parts: Sequence[Part], costs: CodecCosts) -> Timing:
    """Encode, send and decode the parts. Times in seconds after the backward pass has begun."""

    def pass_through(ready: dict, start: float, per_byte: float) -> list[Span]:
        messages = [QueuedMessage(part.name, ready[part.name], part.nbytes, part.queue) for part in parts]
        return serve(messages, start, per_byte, by_queue)

    encoding = pass_through({part.name: part.ready for part in parts}, costs.encode_start, costs.encode)
    sending = pass_through(finish(encoding), costs.alpha, costs.beta * costs.ratio)
    decoding = pass_through(finish(sending), costs.decode_start, costs.decode)
    done, ready = finish(decoding), ready_times(layers)
    through = [max([done[part.name] for part in parts if i in part.of], default=ready[i]) for i in range(len(layers))]
    spans = [Span(i, 0.0, end) for i, end in enumerate(through)]
    forward = next_forward(spans, [layer.backward for layer in layers], [layer.forward for layer in layers])
    return Timing(encoding, sending, decoding, forward)
