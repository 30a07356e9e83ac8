"""A small driving pipeline in real time: sensors, perception, planning and control, each a process of its own.

    mpirun -n 4 python -m reference.drive
    mpirun -n 4 python -m reference.drive --load 128                      # more cameras than were promised for
    mpirun -n 4 python -m reference.drive --fault silent:perception@2     # the watchdog stops the car
    python -m reference.drive --virtual --fault slow:planning@1-2         # the times of an accelerator, exactly
    mpirun -n 5 python -m reference.drive --tier cloud --fault silent:cloud@2     # the car answers by itself
    mpirun -n 5 python -m reference.drive --standby --fault silent:perception@2   # a second perception takes over

A camera speaks at 10 Hz, a radar at 20, an odometer at 50. Each stage has a deadline (realtime/driving/schedule.py),
and what it misses is counted, with percentiles of its response and the age of the picture that the brake acts on.
Perception looks at coarser pictures while it is late. If plans stop coming, control stops the car; if control does,
the car itself. The networks are small ones, trained before the start. On a busy machine take --slow-motion: periods
and deadlines are that many times as long on the clock, and the report divides what it has measured by as much.
What is promised: with at most 4 cameras and without a fault no deadline is missed, and the car does not meet the
obstacle. A cloud that is gone or late changes nothing in that, and neither does a silent perception with a standby.
Exit status: 0 if what was promised was kept, 1 if not, 2 for bad input.
"""

from __future__ import annotations

from . import cli  # first: it answers Ctrl-C while the others are imported

# isort: split
import argparse
import re
import sys
from typing import Any

from .realtime.driving import report
from .realtime.driving.schedule import (
    CONTROL,
    DEADLINE,
    FOUR,
    PERCEPTION,
    PLANNING,
    STATED_LOAD,
    VEHICLE,
    DriveTeam,
    team,
)
from .realtime.driving.stage import FAULTS, DriveClock, DriveFault
from .realtime.driving.stages import CloudStage, ControlStage, PerceptionStage, PlanningStage, StandbyStage
from .realtime.driving.vehicle import drive_vehicle
from .worlds import launch

MOST_CAMERAS, LONGEST = 512, 60


def fault(text: str) -> DriveFault:
    """ "slow:planning@1-2": from second 1 to 2. Raises ArgumentTypeError for what is none."""
    match = re.fullmatch(r"(\w+):(\w+)@(\d+(?:\.\d+)?)(?:-(\d+(?:\.\d+)?))?", text)
    if match is None or match[1] not in FAULTS or match[2] not in DEADLINE:
        which = f"{' or '.join(FAULTS)}, of {', '.join(DEADLINE)}"
        raise argparse.ArgumentTypeError(
            f"{text!r} is no fault ({which}): write silent:perception@2 or slow:planning@1-2"
        )
    start, end = float(match[3]), float(match[4] or "inf")
    if end <= start:
        raise argparse.ArgumentTypeError(f"{text!r} ends before it begins: write {match[1]}:{match[2]}@1-2")
    return DriveFault(match[1], match[2], start * 1e3, end * 1e3)


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser(
        "python -m reference.drive",
        description="Drive towards an obstacle in real time, in four processes, and count what is late.",
        epilog="start it with: mpirun -n 4 python -m reference.drive, or alone with --virtual",
    )
    p.add_argument("--load", type=int, default=STATED_LOAD, help=f"cameras to look at (default: {STATED_LOAD})")
    words = "silent:STAGE@FROM-TO or slow:STAGE@FROM-TO, in seconds; may be given several times"
    p.add_argument("--fault", type=fault, action="append", default=[], help=words)
    p.add_argument("--tier", choices=("car", "cloud"), default="car", help="where pictures may be looked at (car)")
    p.add_argument("--standby", action="store_true", help="add a second perception that takes over")
    p.add_argument("--seconds", type=int, default=5, help="of the drive (default: 5)")
    p.add_argument("--slow-motion", type=float, default=1.0, help="how many times slower than life (default: 1)")
    p.add_argument("--timeline", metavar="FILE", help="write all jobs as a trace for ui.perfetto.dev")
    p.add_argument("--virtual", action="store_true", help="on the virtual cluster, with an accelerator's times")
    p.add_argument("--json", action="store_true", help="print one JSON object instead of the report")
    return p


def check(comm, options: argparse.Namespace) -> None:
    """Raise BadInput that names the option."""
    cli.check_range("--load", options.load, 1, MOST_CAMERAS)
    cli.check_range("--seconds", options.seconds, 1, LONGEST)
    cli.check_range("--slow-motion", options.slow_motion, 1, 100)
    cli.check_writable(comm, "--timeline", options.timeline)
    for fault in options.fault:
        if fault.start >= options.seconds * 1e3:
            raise cli.BadInput(f"--fault from {fault.start / 1e3:g} s on, and the drive is over at {options.seconds}")
    here = _team(options)
    for stage, rank, option in (("cloud", here.cloud, "--tier cloud"), ("standby", here.standby, "--standby")):
        if rank is None and any(fault.stage == stage for fault in options.fault):
            raise cli.BadInput(f"--fault of the {stage}, and there is none: add {option}")
    if options.virtual and comm.size > 1:
        raise cli.BadInput(f"--virtual plays all {here.size} ranks in one process: start it without mpirun")
    if not options.virtual and comm.size != here.size:
        how = f"mpirun -n {here.size} python -m reference.drive, or --virtual"
        raise cli.BadInput(f"this drive has {here.size} ranks, one a stage, and {comm.size} are running: {how}")


def _team(options: argparse.Namespace) -> DriveTeam:
    return team(options.tier == "cloud", options.standby)


def drive(
    comm, seconds: int, load: int, slow: float = 1.0, faults: Any = (), team: DriveTeam = FOUR
) -> list[dict[str, Any]] | None:
    """One rank's part of a drive. Collective, of all ranks of the team. What they have recorded, on rank 0 alone."""
    made: Any = _networks(comm.rank)  # learned before the clock starts
    clock = DriveClock(comm, slow)
    makers: dict[int | None, Any] = {
        PERCEPTION: lambda: PerceptionStage(comm, clock, faults, made, load, team),
        PLANNING: lambda: PlanningStage(comm, clock, faults, made, team),
        CONTROL: lambda: ControlStage(comm, clock, faults),
        team.cloud: lambda: CloudStage(comm, clock, faults, made, load),
        team.standby: lambda: StandbyStage(comm, clock, faults, made, load),
    }
    if comm.rank in makers:
        told = makers[comm.rank]().run()
    else:
        told = drive_vehicle(comm, clock, seconds * 1000, load, team)
    return comm.gather(told)


def _networks(rank: int) -> Any:
    """What this rank has learned, and has used once: the first call of a network takes longer."""
    if rank in (VEHICLE, CONTROL):
        return None
    import torch

    from .realtime.driving import networks

    torch.set_num_threads(1)
    if rank == PLANNING:
        planner = networks.RoutePlanner()
        planner.speed(1.0, 0.0, 0.0)
        return planner
    detector = networks.detector()
    detector(torch.zeros(STATED_LOAD, 1, 64, 64, dtype=torch.uint8))
    return detector


def run(comm, options: argparse.Namespace) -> int:
    """Drive, and tell what came of it."""
    check(comm, options)
    here = _team(options)
    how = options.seconds, options.load, options.slow_motion, options.fault, here
    ranks = launch(drive, here.size, *how).results[0] if options.virtual else drive(comm, *how)
    good = True
    if ranks is not None:
        found = report.summary(ranks, options.load, options.fault, here)
        good = report.kept(found)
        if options.json:
            print(cli.as_json(found))
        else:
            where = "the virtual cluster" if options.virtual else cli.library()
            print(f"{options.seconds} s with {options.load} cameras on {where}, slow motion {options.slow_motion:g}")
            print(*report.lines(found), sep="\n", flush=True)
    good = comm.bcast(good, root=0)
    written = cli.write(
        comm, "--timeline", options.timeline, lambda path: report.timeline(ranks or []).to_perfetto(path)
    )
    return 0 if good and written else 1


if __name__ == "__main__":
    sys.exit(cli.main(run, parser()))
