"""What came of a drive: response times against deadlines, the age of data at the brake, stops, and a timeline."""

from __future__ import annotations

from collections import Counter
from typing import Any

import numpy as np

from ...perf.timeline import Event, Timeline
from .schedule import DEADLINE, FOUR, SIZES, STAGES, STATED_LOAD, DriveTeam, age_bound, stop_bound, takeover_bound
from .stage import DriveFault

QUANTILES = {"p50": 50, "p99": 99, "worst": 100}


def quantiles(values: list[float]) -> dict[str, float | None]:
    """The median, the 99th percentile and the largest; each was measured, none is between two values."""
    if not values:
        return dict.fromkeys(QUANTILES)
    return {name: float(np.percentile(values, q, method="higher")) for name, q in QUANTILES.items()}


def summary(ranks: list[dict[str, Any]], load: int, faults: list[DriveFault], team: DriveTeam = FOUR) -> dict[str, Any]:
    """All that is told, from what the ranks have recorded. Times in ms."""
    vehicle, stages = ranks[0], {told["name"]: told for told in ranks[1:]}
    found: dict[str, Any] = {"promised": promised(load, faults, team), "load": load, "stages": {}}
    for name in [name for name in (*STAGES, "standby") if name in stages]:
        told = stages[name]
        responses = [job.done - job.released for job in told["jobs"]]
        late = sum(response > DEADLINE[name] for response in responses)
        counts = {"jobs": len(responses), "late": late, "skipped": told["skipped"], "deadline": DEADLINE[name]}
        found["stages"][name] = counts | quantiles(responses)
    found["late"] = unseen(vehicle["pictures"], stages) + sum(
        found["stages"][name]["late"] + found["stages"][name]["skipped"] for name in ("planning", "control")
    )
    end = stages["control"]["stopped"]
    ages = [job.done - job.taken for job in stages["control"]["jobs"] if job.taken and (end is None or job.done < end)]
    found["age"] = {"bound": age_bound(), **quantiles(ages)}
    found["resolutions"] = resolutions(stages["perception"]["jobs"])
    found["sizes"] = Counter(SIZES[job.level] for job in stages["perception"]["jobs"])
    found["stops"] = {"control": stages["control"]["stopped"], "vehicle": vehicle["stopped"]}
    found["silences"] = silences(faults, team)
    if team.cloud is not None:
        found["cloud"] = {key: stages["perception"][key] for key in ("asked", "used", "joules", "alone")}
    if team.standby is not None:
        silent = [fault.start for fault in faults if fault.kind == "silent" and fault.stage == "perception"]
        found["takeover"] = {"at": stages["standby"]["leads"], "after": min(silent, default=None)}
        found["takeover"] |= {"bound": takeover_bound(), "again": stages["planning"]["again"]}
    found |= {"gap": vehicle["gap"], "speed": vehicle["speed"], "behind": vehicle["behind"]}
    return found


def silences(faults: list[DriveFault], team: DriveTeam) -> list[dict[str, Any]]:
    """From when on a stage says nothing (ms), and within how long the car stops; perception and its standby are one."""
    starts = {fault.stage: fault.start for fault in faults if fault.kind == "silent"}
    standby = starts.pop("standby", None)
    if team.standby is not None and "perception" in starts:
        if standby is None:
            del starts["perception"]
        else:
            starts["perception"] = max(starts["perception"], standby)
    return [{"stage": name, "start": starts[name], "bound": stop_bound(name)} for name in STAGES if name in starts]


def promised(load: int, faults: list[DriveFault], team: DriveTeam) -> bool:
    """Whether deadlines are promised: at the stated load, if each fault has somebody who answers in its place."""
    lost = {fault.stage for fault in faults} - {"cloud"}  # without the cloud the car answers by itself
    covered = team.standby is not None and all(fault.kind == "silent" for fault in faults if fault.stage in lost)
    return load <= STATED_LOAD and (not lost or lost == {"standby"} or (lost == {"perception"} and covered))


def unseen(pictures: int, stages: dict[str, dict[str, Any]]) -> int:
    """How many pictures nobody has answered in time, neither perception nor its standby."""
    seers = [stages[name] for name in ("perception", "standby") if name in stages]
    seen = {job.taken for told in seers for job in told["jobs"] if job.done - job.released <= DEADLINE["perception"]}
    return pictures - len(seen)


def resolutions(jobs: list[Any]) -> list[tuple[float, int]]:
    """(time, pixels across) of the first picture and of each at which the resolution has changed."""
    changes: list[tuple[float, int]] = []
    for job in jobs:
        if not changes or changes[-1][1] != SIZES[job.level]:
            changes.append((job.released, SIZES[job.level]))
    return changes


def kept(found: dict[str, Any]) -> bool:
    """Whether what was promised was kept: each deadline, and no safe stop; and the car has never met the obstacle."""
    return found["gap"] > 0 and not (found["promised"] and (found["late"] or first_stop(found) is not None))


def first_stop(found: dict[str, Any]) -> float | None:
    """When the car began to brake for good (ms), whoever decided it."""
    return min((time for time in found["stops"].values() if time is not None), default=None)


def lines(found: dict[str, Any]) -> list[str]:
    """The report, as it is printed."""
    told = ["stage         jobs   late  skipped    p50 ms   p99 ms    worst  deadline"]
    for name, s in found["stages"].items():
        times = "".join(f"{'-' if s[q] is None else format(s[q], '.1f'):>9}" for q in QUANTILES)
        told.append(f"{name:10} {s['jobs']:7} {s['late']:6} {s['skipped']:8} {times} {s['deadline']:9}")
    told.append("")  # what follows is no part of the table
    age = found["age"]
    if age["worst"] is not None:
        told.append(f"picture at the brake: {age['p50']:.0f} ms old, at worst {age['worst']:.0f}; bound {age['bound']}")
    changes = [f"{size} from {at / 1e3:.2f} s" for at, size in found["resolutions"]]
    if len(changes) > 4:
        changes = [f"{size} in {count} answers" for size, count in found["sizes"].items()]
    told.append("pixels across: " + (", ".join(changes) or "no picture was looked at"))
    stop = first_stop(found)
    if stop is None:
        told.append("no safe stop was needed")
    else:
        who = min((time, name) for name, time in found["stops"].items() if time is not None)[1]
        told.append(f"safe stop at {stop / 1e3:.2f} s, by the watchdog of {who}")
        for silence in found["silences"]:
            after = stop - silence["start"]
            told.append(f"  {after:.0f} ms after {silence['stage']} fell silent; bound {silence['bound']} ms")
    told += helpers(found)
    told.append(f"the car ends {found['gap']:.1f} m before the obstacle, at {found['speed']:.1f} m/s")
    if found["promised"]:
        told.append(f"promised: no deadline missed at a load of {found['load']}; missed or skipped: {found['late']}")
    else:
        told.append(f"nothing was promised: that holds for a load up to {STATED_LOAD} and no fault")
    return told


def helpers(found: dict[str, Any]) -> list[str]:
    """What the cloud and the standby did, if they were there."""
    told = []
    if cloud := found.get("cloud"):
        told.append(
            f"cloud: asked {cloud['asked']} times, in time {cloud['used']}; {cloud['joules']:.1f} J in the car, "
            f"{cloud['alone']:.1f} J without it"
        )
    if (takeover := found.get("takeover")) and takeover["at"] is not None:
        told.append(f"the standby took over at {takeover['at'] / 1e3:.2f} s")
        if takeover["after"] is not None:
            after = takeover["at"] - takeover["after"]
            told.append(f"  {after:.0f} ms after perception fell silent; bound {takeover['bound']} ms")
    return told


def timeline(ranks: list[dict[str, Any]]) -> Timeline:
    """Each job from its release to its answer; a rank is a stage."""
    return Timeline(
        Event(rank, "compute", job.released / 1e3, job.done / 1e3, label=told["name"])
        for rank, told in enumerate(ranks)
        for job in told.get("jobs", [])
    )
