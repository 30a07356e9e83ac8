"""The stages: pictures become distances, distances a speed, a speed the acceleration of the next 20 ms.

A cloud may look at the pictures in perception's place, and a standby takes its place when it falls silent.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..offload import OffloadDecision
from . import schedule
from .scene import HARDEST, coarser
from .schedule import (
    CONTROL,
    DEADLINE,
    FOUR,
    OWN_ANSWER,
    PERCEPTION,
    PLAN_SILENCE,
    PLANNING,
    SIZES,
    TAKEOVER,
    TRIGGER,
    VEHICLE,
    DriveTeam,
)
from .shedding import LoadShedder
from .stage import END, DriveClock, DriveFault, DriveMessage, DriveStage

GAIN = 2.0  # 1/s: acceleration for each m/s that the speed is off


class PerceptionStage(DriveStage):
    """Pictures of all cameras -> metres to the obstacle; looks at coarser ones while there is too much to do.

    With a cloud it may ask there: if that saves energy, and as long as answers come. If none has come by the latest
    start of its own answer, it gives that, from pictures that are a level coarser.
    """

    name = "perception"
    sources: tuple[int, ...] = (VEHICLE,)
    after: tuple[int, ...] = (PLANNING,)

    def __init__(
        self,
        comm,
        clock: DriveClock,
        faults: list[DriveFault],
        detector: Any,
        load: int,
        team: DriveTeam = FOUR,
    ):
        super().__init__(comm, clock, faults)
        self.detector, self.load, self.shedder, self.cloud = detector, load, LoadShedder(len(SIZES)), team.cloud
        if team.standby is not None:
            self.after = PLANNING, team.standby
        job = schedule.offload_job(load)
        self.patience = job.patience
        self.decision = OffloadDecision(job, schedule.CLOUD_LINK.in_time(job.patience))
        self.asked, self.used, self.joules, self.alone, self.took = 0, 0, 0.0, 0.0, 0.0

    def work(self, trigger: DriveMessage) -> DriveMessage | None:
        """The mean over the cameras, by the cloud or by itself."""
        self.took, self.level = 0.0, self.shedder.level
        self.alone += schedule.energy(self.load, SIZES[self.level])
        latest = trigger.sent + self.patience
        if self.cloud is None or self.clock.now() >= latest or not self.decision.ask():
            return self.own(trigger)
        self.asked += 1
        self.joules += schedule.RADIO
        self.send(trigger._replace(kind="request", sent=self.clock.now()), self.cloud)
        in_time = self.wait(self.cloud, latest, lambda: self.heard("answer") == trigger.taken)
        self.decision.answered(in_time)
        self.used += in_time
        if in_time:
            self.level = 0  # the cloud looks at the finest
            return DriveMessage("objects", taken=trigger.taken, value=self.newest["answer"].value)
        self.level, begun = min(self.level + 1, len(SIZES) - 1), self.clock.now()
        answer = self.own(trigger)
        self.took = self.clock.now() - begun
        return answer

    def heard(self, kind: str) -> float:
        """When the picture was taken (ms) that the newest message of a kind rests on; before all if there is none."""
        return self.newest[kind].taken if kind in self.newest else -1.0

    def own(self, trigger: DriveMessage) -> DriveMessage:
        """An answer of the car's own computer."""
        import torch

        size = SIZES[self.level]
        images = np.resize(coarser(trigger.value, size), (self.load, 1, size, size))
        gaps = self.detector(torch.from_numpy(images))
        self.charge(schedule.perception_time(self.load, size))
        self.joules += schedule.energy(self.load, size)
        return DriveMessage("objects", taken=trigger.taken, value=float(gaps.mean()))

    def learn(self, response: float) -> None:
        """Choose the resolution of the next job, if this one was looked at here."""
        if self.took:  # after it had waited for the cloud
            self.shedder.after(self.took, OWN_ANSWER)
        elif self.heard("answer") != self.heard("camera"):
            self.shedder.after(response, DEADLINE[self.name])

    def leave(self) -> None:
        """Tell the cloud, too, and take what it still says."""
        super().leave()
        if self.cloud is not None:
            self.send(DriveMessage(END), self.cloud)
            while self.comm.recv(source=self.cloud).kind != END:
                pass

    def told(self) -> dict[str, Any]:
        """How often the cloud was asked and its answer used; the car's joules, and those without a cloud."""
        return {"asked": self.asked, "used": self.used, "joules": self.joules, "alone": self.alone}


class StandbyStage(PerceptionStage):
    """A second perception that looks at the same pictures, and speaks once the first one has not answered in time.

    From then on it answers as the first one does; planning takes the first answer for each picture.
    """

    name, sources = "standby", (VEHICLE, PERCEPTION)
    leads: float | None = None

    def speaks(self, trigger: DriveMessage) -> bool:
        """Wait for the other's answer until TAKEOVER, and take its place if there is none."""
        latest = trigger.sent + TAKEOVER
        if self.leads is None:
            if self.wait(PERCEPTION, latest, lambda: self.heard("objects") >= trigger.taken):
                return False
            self.leads = self.clock.now()
        return True

    def told(self) -> dict[str, Any]:
        """When it took over (ms), or None."""
        return {"leads": self.leads}


class CloudStage(DriveStage):
    """The same detector far away, which always looks at the finest pictures; its answers come late, or are lost."""

    name, sources, after = "cloud", (PERCEPTION,), (PERCEPTION,)

    def __init__(self, comm, clock: DriveClock, faults: list[DriveFault], detector: Any, load: int, seed: int = 0):
        super().__init__(comm, clock, faults)
        self.detector, self.load, self.rng = detector, load, np.random.default_rng(seed)

    def work(self, trigger: DriveMessage) -> DriveMessage | None:
        """The mean over the cameras, after the round trip that the link draws; None if that is lost."""
        import torch

        images = np.resize(trigger.value, (self.load, 1, *trigger.value.shape[-2:]))
        gaps = self.detector(torch.from_numpy(images))
        (trip,) = schedule.CLOUD_LINK.answers(1, self.rng)
        if np.isinf(trip):
            return None
        self.clock.sleep(trigger.sent + trip - self.clock.now())
        return DriveMessage("answer", taken=trigger.taken, value=float(gaps.mean()))


class PlanningStage(DriveStage):
    """A distance, and the radar's closing speed -> where the obstacle will be -> how fast to drive."""

    name, after = "planning", (CONTROL,)

    def __init__(self, comm, clock: DriveClock, faults: list[DriveFault], planner: Any, team: DriveTeam = FOUR):
        super().__init__(comm, clock, faults)
        self.planner, self.again = planner, 0
        self.sources = (VEHICLE, PERCEPTION, *([] if team.standby is None else [team.standby]))

    def take(self, message: DriveMessage) -> bool:
        """Drop what rests on a picture that was answered already."""
        last = self.newest.get(message.kind)
        if message.kind == TRIGGER[self.name] and last is not None and message.taken <= last.taken:
            self.again += 1
            return False
        return super().take(message)

    def work(self, trigger: DriveMessage) -> DriveMessage:
        """The plan for the time when it is ready."""
        closing = self.newest["radar"].value if "radar" in self.newest else 0.0
        late = self.clock.now() + DEADLINE[self.name] - trigger.taken
        speed = self.planner.speed(trigger.value, closing, late / 1e3)
        self.charge(schedule.PLAN)
        return DriveMessage("plan", taken=trigger.taken, value=speed)

    def told(self) -> dict[str, Any]:
        """How many answers came a second time."""
        return {"again": self.again}


class ControlStage(DriveStage):
    """The newest plan and the present speed -> an acceleration. Brakes for good if the plan is too old."""

    name, sources, after = "control", (VEHICLE, PLANNING), (VEHICLE,)
    stopped: float | None = None

    def work(self, trigger: DriveMessage) -> DriveMessage:
        """The command for the next 20 ms; the watchdog of all that comes before."""
        none_yet = DriveMessage("plan", value=trigger.value)  # keep the speed
        plan = self.newest.get("plan", none_yet)
        self.charge(schedule.COMMAND)
        if self.stopped is None and self.clock.now() - plan.taken > PLAN_SILENCE:
            self.stopped = self.clock.now()
        wanted = HARDEST if self.stopped is not None else GAIN * (plan.value - trigger.value)
        return DriveMessage("command", taken=plan.taken, value=float(np.clip(wanted, HARDEST, 2.0)))

    def told(self) -> dict[str, Any]:
        """When the watchdog has stopped the car (ms), or None."""
        return {"stopped": self.stopped}
