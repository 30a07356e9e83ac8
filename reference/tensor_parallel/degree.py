"""The tensor-parallel degree: what one layer takes on P ranks, and how many ranks are worth it.

Idea      P ranks compute a layer's FLOPs, 24 b s h^2 + 4 b s^2 h forward and over twice as many backward, in 1 / P of
          the time. The four all-reduces of b s h elements take longer on more ranks, most of all where some of their
          links leave the node. So the share of time in which a rank computes falls with P.
              P has to divide the heads, and memory has to suffice: that gives the least P. Time gives the largest.
Before    "at most 8": how many accelerators had fast links to each other in a node of 2020
After     the largest P to which doubling still pays, for this width, these tokens and this network
Exact     Equal to the virtual cluster's clock if the ranks compute at an even rate and reduce by the algorithm named.
          Nothing is taken to be hidden: with overlap (overlap.py) a part of the communication is.
Left out  That smaller products reach a smaller share of a device's peak.
Source    Narayanan et al., "Efficient Large-Scale Language Model Training on GPU Clusters Using Megatron-LM" (2021),
          section 3.2 (tensor parallelism inside a node) and figure 13.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..collectives.select import choose, predict
from ..models import Config
from ..networks.network import Network
from ..perf.roofline import Device


class LayerTime(NamedTuple):
    """Seconds of one layer, forward and backward, on one of P ranks: computing, and waiting for messages."""

    P: int
    computing: float
    communicating: float

    @property
    def seconds(self) -> float:
        """All of it: nothing is hidden."""
        return self.computing + self.communicating

    @property
    def efficiency(self) -> float:
        """The share of the time in which the rank computes."""
        return self.computing / self.seconds


def flops(b: int, s: int, h: int, kv_share: float = 1.0) -> tuple[float, float]:
    """FLOPs of a layer's matrix products, (forward, backward). kv_share: g / a, heads of keys and values by queries'.

    Backward they are twice as many, and in attention two and a half times: it computes the scores again instead of
    keeping them. All s^2 of them count, as for a device that does not leave out what the causal mask hides.
    """
    linear, attention = b * s * (20 + 4 * kv_share) * h * h, 4 * b * s * s * h
    return linear + attention, 2 * linear + 2.5 * attention


def layer_time(
    P: int,
    b: int,
    s: int,
    config: Config,
    device: Device,
    network: Network,
    itemsize: int = 2,
    algorithm: str | None = None,
) -> LayerTime:
    """One layer's forward and backward pass on P ranks of this network.

    itemsize: bytes of an activation. algorithm: of the all-reduce (collectives.ALLREDUCE); the fastest unless named.
    """
    work = sum(flops(b, s, config.width, config.groups / config.heads)) / P
    return LayerTime(P, work / device.flops, 4 * _allreduce(P, b * s * config.width, itemsize, network, algorithm))


def _allreduce(P: int, count: int, itemsize: int, network: Network, algorithm: str | None) -> float:
    if P == 1:
        return 0.0
    if algorithm is None:
        return choose(P, count, itemsize, network).seconds
    return predict(algorithm, P, count, itemsize, network)


def check_degree(P: int, config: Config) -> str:
    """Why P cannot be the degree without padding, or nothing."""
    for n, what in ((config.heads, "heads"), (4 * config.width, "units of the feed-forward network")):
        if n % P:
            return f"{P} does not divide {n} {what}"
    if config.groups % P and P % config.groups:
        return f"{P} neither divides {config.groups} heads of keys and values nor is a multiple of them"
    return ""


def best_degree(
    degrees: Iterable[int], b: int, s: int, config: Config, device: Device, network: Network, gain: float = 1.5
) -> LayerTime:
    """The largest of these degrees, each a multiple of the last, to which every step up was worth it.

    Those that do not suit the heads are left out. gain: how many times as fast a layer has to be with the next degree
    (with twice as many ranks 2 would be ideal). Raises ValueError if no degree is possible.
    """
    asked = [layer_time(P, b, s, config, device, network) for P in sorted(degrees) if not check_degree(P, config)]
    if not asked:
        raise ValueError(f"none of the degrees {sorted(degrees)} suits {config.heads} heads in {config.groups} groups")
    best = asked[0]
    for one in asked[1:]:
        if best.seconds < gain * one.seconds:
            break
        best = one
    return best
