"""When each sensor speaks, by when each stage must have answered, and what follows from both. In milliseconds.

    camera ---100---> perception -----> planning -----> control -----> brake
    radar  ----50---------------------->   |               |
    odometer --20----------------------------------------->|

    and, if they are there: a cloud that perception asks; a standby that sees the same pictures and hears perception

A stage begins a job for each message of its trigger, and reads the newest of all others. So what the brake does may
rest on a picture that is as old as a camera's period, because the next one is on its way, and all deadlines.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ..failover import failover_bound
from ..offload import LossyLink, OffloadJob

VEHICLE, PERCEPTION, PLANNING, CONTROL = range(4)  # ranks
STAGES = {"perception": PERCEPTION, "planning": PLANNING, "control": CONTROL}


class DriveTeam(NamedTuple):
    """The ranks that a drive may have besides its four; None for those that are not there."""

    cloud: int | None = None
    standby: int | None = None

    @property
    def size(self) -> int:
        """How many ranks drive."""
        return 4 + sum(rank is not None for rank in self)


FOUR = DriveTeam()


def team(cloud: bool, standby: bool) -> DriveTeam:
    """Ranks from 4 on for those that are there."""
    return DriveTeam(4 if cloud else None, 4 + cloud if standby else None)


class SensorTiming(NamedTuple):
    """A sensor: how often it speaks, and to which rank."""

    period: int
    to: int


SENSORS = {
    "camera": SensorTiming(100, PERCEPTION),
    "radar": SensorTiming(50, PLANNING),
    "odometer": SensorTiming(20, CONTROL),
}
TRIGGER = {  # whose messages begin a job
    "perception": "camera", "planning": "objects", "control": "odometer", "cloud": "request", "standby": "camera",
}  # fmt: skip
DEADLINE = {"perception": 60, "planning": 30, "control": 10, "cloud": 60, "standby": 60}  # from trigger to answer
STATED_LOAD = 4  # cameras for which the deadlines are promised
SIZES = (64, 32, 16)  # pixels across a picture, from fine to coarse
PLAN_SILENCE = 300  # control stops the car if what it acts on is older
COMMAND_SILENCE = 100  # the car stops by itself if control has said nothing for so long

PICTURE, CALL = (
    9.5,
    2.0,
)  # ms of the accelerator of the virtual cluster: a fine picture of a camera; what each call costs
PLAN, COMMAND = 12.0, 2.0

CLOUD_LINK = LossyLink(least=20.0, jitter=10.0, loss=0.02)  # ms: round trips with the cloud's computing
OWN_ANSWER = 20  # ms of perception's deadline that are kept for its own answer, a coarser one, if the cloud is late
POWER, RADIO = 40.0, 0.4  # W of the car's accelerator while it works, J of a request
TAKEOVER = 55  # ms after a picture: a standby that has not heard perception's answer by then gives its own


def perception_time(load: int, size: int) -> float:
    """Milliseconds of the virtual cluster's accelerator for the pictures of `load` cameras."""
    return CALL + PICTURE * load * (size / SIZES[0]) ** 2


def releases(until: int) -> Iterator[tuple[int, list[str]]]:
    """Yield (time, sensors that speak then) before `until`."""
    for now in range(0, until, 10):
        if due := [name for name, sensor in SENSORS.items() if now % sensor.period == 0]:
            yield now, due


def age_bound() -> int:
    """The oldest picture that the brake may rest on while every deadline is met.

    A picture of time t has become a plan by t + 60 + 30, and the next one by 100 later. Control's last job with the
    old plan is released before that and has its own deadline.
    """
    return SENSORS["camera"].period + sum(DEADLINE[stage] for stage in STAGES)


def energy(load: int, size: int) -> float:
    """Joules of the car's accelerator for the pictures of `load` cameras."""
    return POWER * perception_time(load, size) / 1e3


def offload_job(load: int) -> OffloadJob:
    """What perception needs by itself, and what it costs to ask the cloud."""
    return OffloadJob(DEADLINE["perception"], OWN_ANSWER, energy(load, SIZES[0]), RADIO)


def takeover_bound() -> int:
    """Within how many ms after perception has fallen silent its standby answers in its place."""
    return int(failover_bound(SENSORS["camera"].period, TAKEOVER))


def stop_bound(stage: str) -> int:
    """Within how many ms after a stage has fallen silent the car brakes, if the others meet their deadlines.

    Control's next job after PLAN_SILENCE sees it, and has its deadline; the car looks whenever its odometer speaks.
    """
    tick = SENSORS["odometer"].period
    return COMMAND_SILENCE + tick if stage == "control" else PLAN_SILENCE + tick + DEADLINE["control"]
