"""A step of a layout on the virtual cluster: the messages of a training, and its computing as seconds."""

from __future__ import annotations

import numpy as np

from reference import mpi
from reference.collectives.ring import ring_allgather
from reference.mesh.mesh import Axes, Mesh
from reference.pipeline.schedules.catalogue import make
from reference.planner.architecture import Architecture
from reference.planner.cluster import Cluster
from reference.planner.spec import LayoutSpec
from reference.planner.step_seconds import head_seconds, layer_seconds, stage_parameters, step_seconds


def train(comm, model: Architecture, spec: LayoutSpec, machine: Cluster, batch: int) -> tuple[float, float]:
    """When a step begins and ends here; only messages of the pipeline travel while something is computed."""
    d, t, p, c = spec[:4]
    mesh = Mesh(comm, Axes({"dp": d, "pp": p, "cp": c, "tp": t}))
    stage, m = mesh.coordinate("pp"), spec.micro_batches(batch)
    layer, head = layer_seconds(model, spec, machine), head_seconds(model, spec, machine)
    nbytes = 2 * spec.micro_batch * model.length * model.width
    activation, part = np.zeros(nbytes, np.int8), np.zeros(nbytes // t, np.int8)  # each rank sends its part
    last = stage == p - 1

    for name in ("dp", "pp", "tp"):
        mesh[name].Barrier()  # communicators are made before the clock starts
    comm.Barrier()
    begin = mpi.wtime(comm)

    def sum_over(name: str, count: int) -> None:
        if mesh[name].Get_size() > 1:
            mesh[name].Allreduce(mpi.IN_PLACE, np.zeros(count, np.int8))

    def one(way: int) -> None:
        for _ in range(model.layers // p):
            seconds = (
                layer.matmul[way] + layer.attention[way] + layer.elementwise[way] + (layer.recompute if way else 0)
            )
            mpi.compute(comm, seconds)
            for _ in range(2):
                sum_over("tp", nbytes)
        if last:
            mpi.compute(comm, head.matmul[way] + head.elementwise[way])
            sum_over("tp", nbytes)

    pipeline, waiting = mesh["pp"], []
    for action in make(spec.schedule, p, m).orders[stage]:
        if action.kind == "S":
            continue  # all gradients and the optimizer, below
        forward = action.kind == "F"
        before, after = (stage - 1, stage + 1) if forward else (stage + 1, stage - 1)
        if 0 <= before < p:
            pipeline.Recv(part, before, tag=action.micro + m * forward)
            if t > 1:
                ring_allgather(mesh["tp"], activation)
        one(0 if forward else 1)
        if 0 <= after < p:
            waiting.append(pipeline.Isend(np.zeros_like(part), after, tag=action.micro + m * forward))
    for request in waiting:
        request.Wait()
    sum_over("dp", round(spec.recipe.gradients * stage_parameters(model, spec)))
    mpi.compute(comm, step_seconds(model, spec, machine, batch).optimizer)
    return begin, mpi.wtime(comm)
