"""Strategies: in which layouts an operator may take its inputs and make its output, and what each of these ways costs.

Idea      An operator is split along one letter of its dimensions, or not at all. For Y[b s f] = X[b s h] W[h f] on P
          ranks, each of which does a P-th of the work:

              along    name     X       W, its gradient    Y       who sends
              b        data     S(b)    R, P               S(b)    allreduce of W's gradient
              f        column   R / P   S(f), S(f)         S(f)    whoever makes X takes summands of its gradient
              h        row      S(h)    S(h), S(h)         P / R   whoever takes Y gets summands
              -        whole    R       R, R               R       nobody, but every rank does all the work

          One rule makes the table, for every operator: what has the letter is cut along it; an input or weight
          without it is read whole, and its gradient comes in summands; an output without it is a sum. So an operator
          is a record of letters (operators.py), and its ways are worked out.
          Two refinements save memory and send more. A weight whose gradient comes in summands may be held in shards and
          gathered before each use (ZeRO-3, FSDP); an input that is read whole may be kept as a slice, and gathered
          again in the backward pass (Megatron's sequence parallelism).
Price     Seconds: FLOPs by the roofline, forward and backward (`passes`). Bytes that stay until the backward pass:
          weights with gradients and optimizer state, and the inputs that it needs. Bytes for a moment: what it gathers,
          and its output.
Left out  Overlap; kernels that join operators; inputs that two operators keep in common are counted for each.
Source    Zheng et al., "Alpa" (2022), section 4.1, which lists the ways of a matrix product; Rajbhandari et al., "ZeRO"
          (2020); Korthikanti et al., "Reducing Activation Recomputation" (2023), section 4.2.2.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import NamedTuple

from ..networks.network import Link
from ..perf.roofline import Device
from .layouts import (
    REPLICATED,
    SHARED,
    SUMMANDS,
    WHOLE,
    CollectiveCall,
    Flow,
    TensorLayout,
    conversion,
    cut,
    elements,
    local_elements,
    sharded,
)
from .operators import Operator


class Setting(NamedTuple):
    """The machine, and the bytes of an element.

    P         ranks of the group
    link      alpha, beta and gamma of a message (the collectives' closed forms)
    device    FLOPs/s and bytes/s of a rank
    itemsize  bytes of an element of an activation, a gradient or a weight that is sent
    state     bytes a parameter: weight, gradient, optimizer state. 16: mixed precision with Adam (2 + 2 + 12)
    """

    P: int
    link: Link
    device: Device
    itemsize: int = 2
    state: int = 16


class Strategy(NamedTuple):
    """One way in which an operator can work.

    name     "column f": along which letter, and what is gathered
    letter   along which it is split, "" if every rank does all the work
    takes    how each input arrives
    uses     how the operator reads each input; where it differs from `takes`, it converts, and again backward
    holds    how each weight lies between steps, its gradient and state with it
    reads    how the operator reads each weight; where it differs from `holds`, it converts, and again backward
    makes    how the output comes
    """

    name: str
    letter: str
    takes: tuple[Flow, ...]
    uses: tuple[Flow, ...]
    holds: tuple[TensorLayout, ...]
    reads: tuple[Flow, ...]
    makes: Flow


class Price(NamedTuple):
    """What a strategy costs a rank: seconds of computation, transfers, bytes kept, and bytes for a moment."""

    seconds: float
    transfers: tuple[CollectiveCall, ...]
    kept: int
    working: int


def strategies(operator: Operator, sizes: Mapping[str, int], P: int) -> tuple[Strategy, ...]:
    """All ways in which an operator can work on P ranks; a letter that P does not divide is not offered."""
    found = [_same(operator, "whole", WHOLE)]
    if P > 1:
        for letter in operator.splits:
            if sizes[letter] % P == 0:
                plain = _along(operator, letter)
                found += [plain, *_weights_in_shards(operator, plain, sizes, P)]
                found += _gathered_again(operator, plain, sizes, P)
        if operator.linear:
            found += [_same(operator, "summands", SUMMANDS), _same(operator, "summands back", SHARED)]
    wanted = operator.flows
    return tuple(one for one in found if wanted is None or (one.takes or (one.makes,))[0] in wanted)


def _same(operator: Operator, name: str, flow: Flow) -> Strategy:
    """Every tensor in one flow, weights whole."""
    inputs, weights = tuple(flow for _ in operator.reads), tuple(WHOLE for _ in operator.weights)
    return Strategy(name, "", inputs, inputs, tuple(REPLICATED for _ in weights), weights, flow)


def _along(operator: Operator, letter: str) -> Strategy:
    """The rule: what has the letter is cut, what lacks it is read whole and has summands for a gradient."""
    uses, reads = (
        tuple(cut(letter) if letter in dims else SHARED for dims in tensors)
        for tensors in (operator.reads, operator.weights)
    )
    summed = WHOLE if letter in (operator.inside or {}) else SUMMANDS
    makes = cut(letter) if letter in operator.out else summed
    name = f"{_word(operator, letter)} {letter}"
    return Strategy(name, letter, uses, uses, tuple(flow.value for flow in reads), reads, makes)


def _word(operator: Operator, letter: str) -> str:
    if operator.kind != "matmul":
        return "split"
    return "data" if letter not in operator.weights[0] else "column" if letter in operator.out else "row"


def _weights_in_shards(operator: Operator, plain: Strategy, sizes: Mapping[str, int], P: int) -> Iterator[Strategy]:
    """The strategy with weights held in shards, if their gradients come in summands: ZeRO-3."""
    holds = list(plain.holds)
    for i, dims in enumerate(operator.weights):
        even = [dim for dim in dims if sizes[dim] % P == 0]
        if plain.reads[i] == SHARED and even:
            holds[i] = sharded(even[0])
    if tuple(holds) != plain.holds:
        yield plain._replace(name=f"{plain.name}, weights in shards", holds=tuple(holds))


def _gathered_again(operator: Operator, plain: Strategy, sizes: Mapping[str, int], P: int) -> Iterator[Strategy]:
    """The strategy with its input kept as a slice, if it reads the whole and needs it for the backward pass."""
    if operator.keeps and plain.uses == (SHARED,):
        for dim in operator.reads[0]:
            if sizes[dim] % P == 0:
                yield plain._replace(name=f"{plain.name}, input gathered along {dim}", takes=(cut(dim),))


def price(operator: Operator, strategy: Strategy, sizes: Mapping[str, int], setting: Setting) -> Price:
    """What an operator costs in this way: seconds, transfers, and bytes of memory on each rank."""
    P, itemsize = setting.P, setting.itemsize

    def local(layout: TensorLayout, dims: str) -> int:
        return local_elements(layout, dims, sizes, P)

    used = [local(flow.value, dims) for flow, dims in zip(strategy.uses, operator.reads)]
    read = [local(flow.value, dims) for flow, dims in zip(strategy.reads, operator.weights)]
    out = local(strategy.makes.value, operator.out)
    flops = 2 * sum(elements(dims, sizes) for dims in operator.work) / (P if strategy.letter else 1)
    once = setting.device.seconds(flops, itemsize * (sum(used) + sum(read) + out)) if operator.passes else 0.0
    held = sum(local(layout, dims) for layout, dims in zip(strategy.holds, operator.weights))
    saved = sum(local(flow.value, dims) for flow, dims in zip(strategy.takes, operator.reads)) if operator.keeps else 0
    gathered = [n for n, use, take in zip(used, strategy.uses, strategy.takes) if use != take]
    gathered += [n for n, use, hold in zip(read, strategy.reads, strategy.holds) if use.value != hold]
    return Price(
        operator.passes * once,
        tuple(own_transfers(operator, strategy, sizes)),
        held * setting.state + saved * itemsize,
        itemsize * (sum(gathered) + out),
    )


def own_transfers(operator: Operator, strategy: Strategy, sizes: Mapping[str, int]) -> Iterator[CollectiveCall]:
    """The collectives within an operator: inputs and weights that it gathers, gradients of weights, its own sums."""
    tensors = [
        *zip(operator.reads, strategy.takes, strategy.uses),
        *((dims, Flow(hold, hold), read) for dims, hold, read in zip(operator.weights, strategy.holds, strategy.reads)),
    ]
    for dims, have, use in tensors:
        ways = [("forward", have.value, use.value), ("backward", have.value, use.value)]
        for phase, old, new in [*ways, ("backward", use.gradient, have.gradient)]:
            if collective := conversion(old, new):
                yield CollectiveCall(operator.name, phase, collective, elements(dims, sizes))
    dims, times = (operator.inside or {}).get(strategy.letter, ("", 0))
    for _ in range(times):
        yield CollectiveCall(operator.name, "forward", "allreduce", elements(dims, sizes))
