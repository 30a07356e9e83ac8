"""The time of a step with offloading: queues in a row, and how fast a tier must be to be hidden.

Idea      A shard passes through stations, each of which serves one shard at a time, in the order in which they come:

              network (reduce-scatter) -> copy down -> the host's processor (step) -> copy up -> network (all-gather)

          Shard k ends at station j at end_k = max(its end at station j - 1, end_(k-1)) + seconds_k. All but what the
          backward pass hides adds to the step.
Before    forward |fff| backward |3333222211110000| down |kkkk| step |ssss| up |kkkk| gather |g|      one after another
After     forward |fff| backward |3333222211110000|
                  down               |k3| |k2| |k1| |k0|
                  step                  |s3| |s2| |s1| |s0|
                  up                        |k3| |k2| |k1| |k0|
                  gather                                |g3 g2 g1 g0|
Price     The last shard's way is exposed whatever the tier is: its gradient comes when the backward pass ends. The step
          with the gradient of the step before ("delayed") hides it behind the next forward pass, and is not the serial
          program's any more (offload.py).
Exact     Equal to the virtual clock. A rank hands a copy over in a hook, so one that is reduced between two hooks waits
          for the second.
Source    Ren et al., "ZeRO-Offload: Democratizing Billion-Scale Model Training" (2021), section 4; Rajbhandari et al.,
          "ZeRO-Infinity" (2021), section 4, for what a tier must carry.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Sequence
from typing import NamedTuple


class Service(NamedTuple):
    """What a station does from start to end, in seconds, for which shard (in the order in which they come)."""

    station: str
    shard: int
    start: float
    end: float


def queue(ready: Sequence[float], seconds: Sequence[float], station: str = "", free: float = 0.0) -> list[Service]:
    """One station: shard k begins when it is ready, and the one before it is done."""
    spans = []
    for shard, (at, takes) in enumerate(zip(ready, seconds, strict=True)):
        start = max(at, free)
        free = start + takes
        spans.append(Service(station, shard, start, free))
    return spans


def ends(spans: Sequence[Service]) -> list[float]:
    """When each shard has left the station."""
    return [span.end for span in spans]


class OffloadTimes(NamedTuple):
    """Seconds of each shard at each station, in the order in which the backward pass is ready with them."""

    reduce: Sequence[float]
    down: Sequence[float]
    step: Sequence[float]
    up: Sequence[float]
    gather: Sequence[float]


class OffloadStep(NamedTuple):
    """A step: how long it takes, how much of that nothing is computed, and what happens when."""

    seconds: float
    exposed: float
    spans: list[Service]


def offload_step(
    forward: float, full: Sequence[float], times: OffloadTimes, early: bool = True, clipped: bool = False
) -> OffloadStep:
    """A step of stage 2 with its optimizer in another tier.

    full[k]  when the backward pass is ready with shard k, counted from the start of the backward pass; the last entry
             is its length, as nothing is computed behind the last gradient
    early    the step of a shard begins when its gradient has come down; else when the backward pass is over, too
    clipped  no step begins before all gradients have come down, since a global norm is needed
    """
    over, reduced, down = _backward(forward, full, times)
    begin = [max(ends(down)) if clipped else one if early else max(over, one) for one in ends(down)]
    step = queue(begin, times.step, "step")
    up = queue(ends(step), times.up, "up")
    gather = queue([max(over, end) for end in ends(up)], times.gather, "gather")
    seconds = gather[-1].end
    return OffloadStep(seconds, seconds - forward - full[-1], [*reduced, *down, *step, *up, *gather])


def delayed_steps(forward: float, full: Sequence[float], times: OffloadTimes, steps: int) -> list[float]:
    """Seconds of each of the first steps, if the optimizer works on the gradients of the step before.

    The host steps while the rank computes the next gradients, and both wait for the slower one. If each shard's copies
    take no longer than its step, a step takes about max(forward + backward, the last copy down + all steps + the last
    copy up) + gathers; else the copies in one direction may be what all wait for.
    """
    now, took, ups = 0.0, [], []
    free = dict.fromkeys(("down", "step", "up"), 0.0)
    for _ in range(steps):
        over, _reduced, down = _backward(now + forward, full, times, free["down"])
        end = max([over, *ends(queue([max(over, one) for one in ups], times.gather[: len(ups)]))])
        step = queue([max(end, one) for one in ends(down)], times.step, "step", free["step"])
        up = queue(ends(step), times.up, "up", free["up"])
        free, ups = {"down": down[-1].end, "step": step[-1].end, "up": up[-1].end}, ends(up)
        took.append(end - now)
        now = end
    return took


def _backward(
    start: float, full: Sequence[float], times: OffloadTimes, free: float = 0.0
) -> tuple[float, list[Service], list[Service]]:
    """(when it is over and all is reduced, the reductions, the copies down), of a backward pass from `start` on."""
    looks = [start + one for one in full]  # when a hook runs, and the rank can hand a copy over
    reduced = queue(looks, times.reduce, "reduce")
    over = max(looks[-1], reduced[-1].end)
    return over, reduced, queue([_next(looks, end) for end in ends(reduced)], times.down, "down", free)


def _next(looks: Sequence[float], moment: float) -> float:
    """The first time at or after the moment at which the rank looks; after the last, it waits: the moment itself."""
    place = bisect_left(looks, moment)
    return looks[place] if place < len(looks) else moment


# A file tier ----------------------------------------------------------------------------------------------------------


def paged_step(reads: Sequence[float], steps: Sequence[float], writes: Sequence[float], buffers: int) -> list[Service]:
    """The optimizer's state read, stepped and written shard by shard, with so many buffers of one shard each.

    Shard k is read when the reads before it are done and shard k - buffers has been written; then it is stepped, then
    written.
    """
    spans: list[Service] = []
    read = step = write = 0.0
    written = [0.0] * buffers  # when each buffer is free
    for shard, (r, s, w) in enumerate(zip(reads, steps, writes, strict=True)):
        start = max(read, written[shard % buffers])
        read = start + r
        begun = max(read, step)
        step = begun + s
        out = max(step, write)
        write = written[shard % buffers] = out + w
        spans.append(Service("read", shard, start, read))
        spans.append(Service("step", shard, begun, step))
        spans.append(Service("write", shard, out, write))
    return spans


def paged_pass(reads: Sequence[float], computes: Sequence[float], ahead: int) -> float:
    """Seconds of a pass whose units are read from a tier, one after the other, and then computed.

    Unit k is asked for when unit k - ahead is needed, and needed when unit k - 1 has been computed.
    """
    needed, read, now = [], 0.0, 0.0
    for k, (takes, compute) in enumerate(zip(reads, computes, strict=True)):
        needed.append(now)
        read = max(read, needed[max(k - ahead, 0)]) + takes
        now = max(now, read) + compute
    return now


# How fast must a tier be? ---------------------------------------------------------------------------------------------


class Traffic(NamedTuple):
    """What crosses to a tier in a step, in bytes a parameter of the shard, and the FLOP that can hide it.

    flops: FLOP of a parameter of the model and token: 2 forward, 4 backward, and 2 more with recomputation.
    """

    name: str
    down: float
    up: float
    flops: float


OFFLOAD = Traffic("gradients down", 2, 0, 4)
"""ZeRO-Offload, 16 bits: gradients go down during the backward pass. The weights' way up is mostly exposed."""

WEIGHTS = Traffic("weights up, twice", 0, 4, 6)
"""Weights of 16 bits in the tier, read for the forward and for the backward pass."""

OPTIMIZER = Traffic("optimizer's state", 14, 12, 0)
"""Read 12 bytes (master, momentum, variance), write them and the new weights of 16 bits. No computing hides it: all
gradients are there."""


def tokens_to_hide(traffic: Traffic, bandwidth: float, flops: float, P: int = 1) -> float:
    """Tokens that a rank must compute in a step so that the traffic in the busier direction takes no longer.

    bandwidth: bytes/s of one direction that one rank has; flops: FLOP/s that a rank really reaches. Each of the P ranks
    carries its shard, and computes with all parameters:  bytes Psi / (P bandwidth) = flops_a_token Psi tokens / flops.
    """
    return _intensity(traffic) * flops / (P * bandwidth)


def bandwidth_to_hide(traffic: Traffic, tokens: float, flops: float, P: int = 1) -> float:
    """Bytes/s of one direction with which that many tokens hide the traffic."""
    return _intensity(traffic) * flops / (P * tokens)


def _intensity(traffic: Traffic) -> float:
    """Bytes of the busier direction for each FLOP of a token that can hide them."""
    if not traffic.flops:
        raise ValueError(f"nothing computes while this moves: {traffic.name}")
    return max(traffic.down, traffic.up) / traffic.flops


def efficiency(traffic_bytes: float, flops_a_token: float, tokens: float, bandwidth: float, flops: float) -> float:
    """Share of the FLOP/s that is reached if a tier's traffic is not hidden at all: computing / (computing + traffic).

    traffic_bytes: bytes a parameter, both directions together, for a rank that carries all parameters (P = 1). With
    traffic_bytes = 8 and 8 FLOP this is equation 6 of the ZeRO-Infinity paper, whose intensity is then the tokens.
    """
    computing = flops_a_token * tokens / flops
    return computing / (computing + traffic_bytes / bandwidth)
