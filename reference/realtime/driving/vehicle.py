"""The rank that is the vehicle: it senses, moves as it is told, and brakes by itself if nobody tells it anything."""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import mpi
from .scene import HARDEST, DrivenCar, pictures
from .schedule import COMMAND_SILENCE, CONTROL, FOUR, PERCEPTION, PLANNING, SENSORS, SIZES, DriveTeam, releases
from .stage import END, DriveClock, DriveMessage, arrived

DRAWN = 4  # cameras whose pictures are drawn and sent; perception takes copies for further ones


def drive_vehicle(
    comm, clock: DriveClock, until: int, load: int, team: DriveTeam = FOUR, seed: int = 0
) -> dict[str, Any]:
    """Drive for `until` ms with so many cameras; what there is to report."""
    car, rng, sent = DrivenCar(), np.random.default_rng(seed), []
    heard, wanted, stopped, at, behind, shots = 0.0, 0.0, None, 0, 0.0, 0
    standby = [team.standby] if team.standby is not None else []
    for at_ms, due in releases(until):
        clock.sleep(at_ms - clock.now())
        behind = max(behind, clock.now() - at_ms)
        while comm.iprobe():
            command = comm.recv()
            heard, wanted = command.sent, command.value
        if stopped is None and clock.now() - heard > COMMAND_SILENCE:
            stopped = clock.now()
        car.move((at_ms - at) / 1e3, wanted if stopped is None else HARDEST)
        at = at_ms
        for name in due:
            message = DriveMessage(name, clock.now(), clock.now(), sensed(name, car, load, rng))
            shots += name == "camera"
            to = [SENSORS[name].to, *(standby if name == "camera" else [])]
            sent += [comm.isend(message, rank) for rank in to]
    sent += [comm.isend(DriveMessage(END), rank) for rank in (PERCEPTION, PLANNING, CONTROL, *standby)]
    while not any(message.kind == END for message in arrived(comm)):
        pass
    mpi.waitall(sent)
    return {"gap": car.gap, "speed": car.speed, "stopped": stopped, "behind": behind, "pictures": shots}


def sensed(name: str, car: DrivenCar, load: int, rng: np.random.Generator) -> Any:
    """What a sensor says: pictures of the first cameras, bytes; or a speed with some noise (m/s)."""
    if name == "camera":
        return pictures(np.full(min(load, DRAWN), car.gap), SIZES[0], rng)
    return car.speed + rng.normal(0, 0.05)
