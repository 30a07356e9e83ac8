"""Loss scaling on a mesh: all ranks step or none, with the scales of torch's GradScaler that sees all gradients."""

import pytest
import torch

from reference.mesh import Axes, Mesh
from reference.mesh.scaling import MeshScaler
from reference.worlds import launch

AXES = {"pp": 2, "dp": 2, "tp": 2}
STEPS, INTERVAL = 12, 3
BAD = {2: 5, 3: 0, 7: 6, 11: 2}  # step: the rank whose part of the gradient overflows


def part(step: int, rank: int) -> torch.Tensor:
    """This rank's gradient, before it is scaled."""
    g = torch.randn(4, generator=torch.Generator().manual_seed(100 * step + rank), dtype=torch.float64)
    if BAD.get(step) == rank:
        g[rank % 4] = float("nan") if step % 2 else float("inf")
    return g


def on_a_mesh(comm):
    scaler, seen = MeshScaler(Mesh(comm, Axes(AXES)).comm, 64.0, interval=INTERVAL), []
    for step in range(STEPS):
        g = part(step, comm.rank) * scaler.scale
        seen.append((scaler.scale, scaler.unscale([g]), torch.allclose(g, part(step, comm.rank), equal_nan=True)))
    return seen


def by_torch():
    """(scale, whether a step was taken) of one device that has all gradients."""
    scaler = torch.amp.GradScaler("cpu", 64.0, growth_interval=INTERVAL)
    w, seen = torch.nn.Parameter(torch.zeros(32, dtype=torch.float64)), []
    optimizer = torch.optim.SGD([w], lr=1.0)
    for step in range(STEPS):
        before, whole = w.detach().clone(), torch.cat([part(step, rank) for rank in range(8)])
        scale = scaler.get_scale()
        scaler.scale(torch.zeros(()))  # starts it
        w.grad = whole * scale
        scaler.step(optimizer)
        scaler.update()
        seen.append((scale, not torch.equal(w, before)))
    return seen


def test_all_step_or_none_with_the_scales_of_one_device():
    first, *others = launch(on_a_mesh, 8).results
    assert all(run == first for run in others)
    assert [(scale, taken) for scale, taken, _ in first] == by_torch()
    assert [step for step, (_, taken, _) in enumerate(first) if not taken] == sorted(BAD)
    assert all(right for _, _, right in first)


def test_it_sends_one_number_a_step():
    def once(comm):
        MeshScaler(comm).unscale([torch.ones(1000)])

    run = launch(once, 2)
    assert sum(run.bytes_sent) == 2 * 8


@pytest.mark.parametrize("bad", [{"scale": 0.0}, {"growth": 1.0}, {"backoff": 1.0}, {"interval": 0}])
def test_bad_options_are_refused(bad):
    with pytest.raises(ValueError, match="a scale is above 0"):
        MeshScaler(None, **bad)
