"""What came of a drive: response times against deadlines, the age of data at the brake, stops, and a timeline."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...perf.timeline import Event, Timeline
from .schedule import DEADLINE, SIZES, STAGES, STATED_LOAD, age_bound, stop_bound
from .stage import DriveFault

QUANTILES = {"p50": 50, "p99": 99, "worst": 100}


def quantiles(values: list[float]) -> dict[str, float | None]:
    """The median, the 99th percentile and the largest; each was measured, none is between two values."""
    if not values:
        return dict.fromkeys(QUANTILES)
    return {name: float(np.percentile(values, q, method="higher")) for name, q in QUANTILES.items()}


def summary(ranks: list[dict[str, Any]], load: int, faults: list[DriveFault]) -> dict[str, Any]:
    """All that is told, from what the four ranks have recorded. Times in ms."""
    vehicle, stages = ranks[0], dict(zip(STAGES, ranks[1:]))
    found: dict[str, Any] = {"promised": load <= STATED_LOAD and not faults, "load": load, "stages": {}}
    for name, told in stages.items():
        responses = [job.done - job.released for job in told["jobs"]]
        late = sum(response > DEADLINE[name] for response in responses)
        counts = {"jobs": len(responses), "late": late, "skipped": told["skipped"], "deadline": DEADLINE[name]}
        found["stages"][name] = counts | quantiles(responses)
    found["late"] = sum(stage["late"] + stage["skipped"] for stage in found["stages"].values())
    end = stages["control"]["stopped"]
    ages = [job.done - job.taken for job in stages["control"]["jobs"] if job.taken and (end is None or job.done < end)]
    found["age"] = {"bound": age_bound(), **quantiles(ages)}
    found["resolutions"] = resolutions(stages["perception"]["jobs"])
    found["stops"] = {"control": stages["control"]["stopped"], "vehicle": vehicle["stopped"]}
    found["silences"] = [
        {"stage": fault.stage, "start": fault.start, "bound": stop_bound(fault.stage)}
        for fault in faults
        if fault.kind == "silent"
    ]
    found |= {"gap": vehicle["gap"], "speed": vehicle["speed"], "behind": vehicle["behind"]}
    return found


def resolutions(jobs: list[Any]) -> list[tuple[float, int]]:
    """(time, pixels across) of the first picture and of each at which the resolution has changed."""
    changes: list[tuple[float, int]] = []
    for job in jobs:
        if not changes or changes[-1][1] != SIZES[job.level]:
            changes.append((job.released, SIZES[job.level]))
    return changes


def kept(found: dict[str, Any]) -> bool:
    """Whether what was promised was kept: under the stated load each deadline; the car has never met the obstacle."""
    return found["gap"] > 0 and not (found["promised"] and found["late"])


def first_stop(found: dict[str, Any]) -> float | None:
    """When the car began to brake for good (ms), whoever decided it."""
    return min((time for time in found["stops"].values() if time is not None), default=None)


def lines(found: dict[str, Any]) -> list[str]:
    """The report, as it is printed."""
    told = ["stage         jobs   late  skipped    p50 ms   p99 ms    worst  deadline"]
    for name, s in found["stages"].items():
        times = "".join(f"{'-' if s[q] is None else format(s[q], '.1f'):>9}" for q in QUANTILES)
        told.append(f"{name:10} {s['jobs']:7} {s['late']:6} {s['skipped']:8} {times} {s['deadline']:9}")
    age = found["age"]
    if age["worst"] is not None:
        told.append(f"picture at the brake: {age['p50']:.0f} ms old, at worst {age['worst']:.0f}; bound {age['bound']}")
    told.append("pixels across: " + ", ".join(f"{size} from {at / 1e3:.2f} s" for at, size in found["resolutions"]))
    stop = first_stop(found)
    if stop is None:
        told.append("no safe stop was needed")
    else:
        who = min((time, name) for name, time in found["stops"].items() if time is not None)[1]
        told.append(f"safe stop at {stop / 1e3:.2f} s, by the watchdog of {who}")
        for silence in found["silences"]:
            after = stop - silence["start"]
            told.append(f"  {after:.0f} ms after {silence['stage']} fell silent; bound {silence['bound']} ms")
    told.append(f"the car ends {found['gap']:.1f} m before the obstacle, at {found['speed']:.1f} m/s")
    if found["promised"]:
        told.append(f"promised: no deadline missed at a load of {found['load']}; missed or skipped: {found['late']}")
    else:
        told.append(f"nothing was promised: that holds for a load up to {STATED_LOAD} and no fault")
    return told


def timeline(ranks: list[dict[str, Any]]) -> Timeline:
    """Each job from its release to its answer; a rank is a stage."""
    return Timeline(
        Event(rank, "compute", job.released / 1e3, job.done / 1e3, label=name)
        for name, rank in STAGES.items()
        for job in ranks[rank]["jobs"]
    )
