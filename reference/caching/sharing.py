"""A link that several jobs share: fixed parts, or max-min fair shares that leave no bandwidth idle.

Idea      A job of weight w that asks for d bytes/s. Fixed parts give it w / (sum of weights) of the link, or d if that
          is less, and what it does not use is lost. Max-min fair shares go on: what one leaves is divided among those
          who want more, by their weights, until all have what they ask for or the link is full.
Before    min(d_i, B w_i / sum w)
After     the same where nobody leaves anything; else more for somebody, and for nobody less
Exact     Max-min: nobody could have more without somebody of a smaller rate / weight having less. The rates are
          those of networks/congestion.py, with a link of its own for each demand.
Left out  Several shared links in a row, which congestion.py has; what switching between jobs costs.
Source    Bertsekas and Gallager, "Data Networks" (1992), section 6.5; Demers, Keshav and Shenker, "Analysis and
          simulation of a fair queueing algorithm" (1989).
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

from ..networks.congestion import max_min


class LinkUser(NamedTuple):
    """What a job wants: bytes to move from `start` on; its weight; demand: the most bytes/s that it can take."""

    nbytes: float
    weight: float = 1.0
    demand: float = float("inf")
    start: float = 0.0


Sharing = Callable[[Sequence[LinkUser], Sequence[bool], float], list[float]]
"""(all jobs, which of them are active, bytes/s of the link) -> bytes/s of each."""


def fixed_parts(jobs: Sequence[LinkUser], active: Sequence[bool], bandwidth: float) -> list[float]:
    """bandwidth * weight / (weights of all jobs, active or not), at most the demand; 0 for who is not active."""
    total = sum(job.weight for job in jobs)
    return [min(job.demand, bandwidth * job.weight / total) * on for job, on in zip(jobs, active)]


def fair_shares(jobs: Sequence[LinkUser], active: Sequence[bool], bandwidth: float) -> list[float]:
    """Weighted max-min fair rates of the active jobs."""
    going = [i for i, on in enumerate(active) if on]
    capacities: dict[Hashable, float] = {f"job {i}": min(jobs[i].demand, bandwidth) for i in going}
    capacities["link"] = bandwidth
    rates = max_min([("link", f"job {i}") for i in going], capacities, [jobs[i].weight for i in going])
    found = [0.0] * len(jobs)
    for i, rate in zip(going, rates):
        found[i] = float(rate)
    return found


def ends(jobs: Sequence[LinkUser], bandwidth: float, rule: Sharing) -> list[float]:
    """When each job has moved its bytes; rates change whenever one starts or ends.

    Raises ValueError if one never does.
    """
    left, done, now = [job.nbytes for job in jobs], [0.0] * len(jobs), 0.0
    while any(left):
        active = [remaining > 0 and job.start <= now for job, remaining in zip(jobs, left)]
        rates = rule(jobs, active, bandwidth) if any(active) else [0.0] * len(jobs)
        waits = [job.start - now for job, remaining in zip(jobs, left) if remaining > 0 and job.start > now]
        times = [remaining / rate for remaining, rate in zip(left, rates) if rate > 0]
        if not (waits or times):
            raise ValueError(f"with rates of {rates} bytes/s some job never ends")
        step = min(waits + times)
        now += step
        for i, rate in enumerate(rates):
            if active[i]:
                left[i] = 0.0 if rate > 0 and left[i] / rate <= step * (1 + 1e-12) else left[i] - rate * step
                done[i] = now if left[i] == 0 else 0.0
    return done
