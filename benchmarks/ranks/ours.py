"""A rank of our side, started by mpirun: steps of our composition over MPI.

mpirun -n 4 python ours.py SOCKET      # jobs.py does
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import torch
from cases import CASES, CLIP, ENDS, Case, adamw, model_and_share
from jobs import answer, timed

from reference import mpi
from reference.mesh import Axes, Mesh
from reference.mesh.gpt import MeshGPT
from reference.mesh.training import Composition, OnePipeline, OneStage
from reference.pipeline.schedules import make


def stepper(comm, case: Case) -> Callable[[], float]:
    """A step of our composition; it returns the loss of the whole batch."""
    mesh = Mesh(comm, Axes({"pp": case.pp, "dp": case.dp, "cp": 1, "tp": case.tp}))
    how = Composition(mesh.axes, make("1F1B", case.pp, case.micro_batches), case.zero, CLIP)
    model, mine = model_and_share(case, mesh.coordinate("dp"))
    part = MeshGPT(mesh["tp"], mesh["cp"], model)
    training: Any = (
        OneStage(mesh, part, how, adamw, 0) if case.zero > 1 else OnePipeline(mesh, part, how, adamw, 0, ENDS[case.pp])
    )
    return lambda: training.step(mine, 0)


def main(address: str) -> None:
    """Serve the parent's questions."""
    comm = mpi.world()
    torch.set_num_threads(1)
    steps: dict[str, Callable[[], float]] = {}
    losses: dict[str, float] = {}

    def step(name: str) -> None:
        losses[name] = steps[name]()

    def found(what: str, name: str, _how: str) -> Any:
        if what == "loss":
            return losses.pop(name) if steps.pop(name) else None
        if name not in steps:
            steps[name] = stepper(comm, CASES[name])
        return timed(lambda: step(name), comm.Barrier)

    try:
        answer(address, comm.rank, found)
    except BaseException:
        comm.Abort(1)
        raise


if __name__ == "__main__":
    main(sys.argv[1])
