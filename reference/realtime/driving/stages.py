"""The three stages: pictures become distances, distances a speed, a speed the acceleration of the next 20 ms."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import schedule
from .scene import HARDEST, coarser
from .schedule import CONTROL, DEADLINE, PERCEPTION, PLAN_SILENCE, PLANNING, SIZES, VEHICLE
from .shedding import LoadShedder
from .stage import DriveClock, DriveFault, DriveMessage, DriveStage

GAIN = 2.0  # 1/s: acceleration for each m/s that the speed is off


class PerceptionStage(DriveStage):
    """Pictures of all cameras -> metres to the obstacle; looks at coarser ones while there is too much to do."""

    name, sources, after = "perception", (VEHICLE,), PLANNING

    def __init__(self, comm, clock: DriveClock, faults: list[DriveFault], detector: Any, load: int):
        super().__init__(comm, clock, faults)
        self.detector, self.load, self.shedder = detector, load, LoadShedder(len(SIZES))

    def work(self, trigger: DriveMessage) -> DriveMessage:
        """The mean over the cameras."""
        import torch

        size = SIZES[self.level]
        images = np.resize(coarser(trigger.value, size), (self.load, 1, size, size))
        gaps = self.detector(torch.from_numpy(images))
        self.charge(schedule.perception_time(self.load, size))
        return DriveMessage("objects", taken=trigger.taken, value=float(gaps.mean()))

    def learn(self, response: float) -> None:
        """Choose the resolution of the next job."""
        self.level = self.shedder.after(response, DEADLINE[self.name])


class PlanningStage(DriveStage):
    """A distance, and the radar's closing speed -> where the obstacle will be -> how fast to drive."""

    name, sources, after = "planning", (VEHICLE, PERCEPTION), CONTROL

    def __init__(self, comm, clock: DriveClock, faults: list[DriveFault], planner: Any):
        super().__init__(comm, clock, faults)
        self.planner = planner

    def work(self, trigger: DriveMessage) -> DriveMessage:
        """The plan for the time when it is ready."""
        closing = self.newest["radar"].value if "radar" in self.newest else 0.0
        late = self.clock.now() + DEADLINE[self.name] - trigger.taken
        speed = self.planner.speed(trigger.value, closing, late / 1e3)
        self.charge(schedule.PLAN)
        return DriveMessage("plan", taken=trigger.taken, value=speed)


class ControlStage(DriveStage):
    """The newest plan and the present speed -> an acceleration. Brakes for good if the plan is too old."""

    name, sources, after = "control", (VEHICLE, PLANNING), VEHICLE
    stopped: float | None = None

    def work(self, trigger: DriveMessage) -> DriveMessage:
        """The command for the next 20 ms; the watchdog of all that comes before."""
        plan = self.newest.get("plan", DriveMessage("plan", value=trigger.value))  # none yet: keep the speed
        self.charge(schedule.COMMAND)
        if self.stopped is None and self.clock.now() - plan.taken > PLAN_SILENCE:
            self.stopped = self.clock.now()
        wanted = HARDEST if self.stopped is not None else GAIN * (plan.value - trigger.value)
        return DriveMessage("command", taken=plan.taken, value=float(np.clip(wanted, HARDEST, 2.0)))

    def told(self) -> dict[str, Any]:
        """When the watchdog has stopped the car (ms), or None."""
        return {"stopped": self.stopped}
