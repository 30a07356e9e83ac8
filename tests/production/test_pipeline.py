"""chapters/production/pipeline.py trains what one process trains: the same losses, step by step."""

import re
import runpy

import pytest
import torch
from torch import nn

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS


def in_a_pipeline(ranks: int) -> list[float]:
    """The losses that the script prints."""
    lines = printed("pipeline.py", ranks)
    return [float(loss) for loss in re.findall(r"step \d loss (\S+)", "\n".join(lines))]


def in_one_process() -> list[float]:
    """The same training without a pipeline."""
    sizes = runpy.run_path(str(FOLDER / "pipeline.py"))
    width, losses = sizes["WIDTH"], []
    torch.manual_seed(0)
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(width, width), nn.Tanh()) for _ in range(sizes["LAYERS"])))
    optimizer = torch.optim.SGD(layers.parameters(), lr=2.0)
    x = torch.randn(sizes["BATCH"], width)
    for _ in range(5):
        optimizer.zero_grad()
        loss = layers(x).square().mean()
        loss.backward()
        losses.append(loss.item())
        optimizer.step()
    return losses


def test_the_losses_are_those_of_one_process():
    assert in_a_pipeline(ranks=4) == pytest.approx(in_one_process(), rel=1e-4, abs=2e-6)
