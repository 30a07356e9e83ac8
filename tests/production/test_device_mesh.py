"""The script that chapter 11 shows: four ranks on a mesh of two axes train, and clip, as one process does."""

import re

import torch
from torch import nn

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS


def serial(script) -> tuple[nn.Module, list[float]]:
    """The same training on one process, and the norm of the gradient in each step."""
    model, norms = script["build"](), []
    optimizer = torch.optim.SGD(model.parameters(), lr=script["RATE"])
    for step in range(script["STEPS"]):
        x, y = script["share"](step)
        optimizer.zero_grad()
        (script["loss_sum"](model(x), y) / len(x)).backward()
        norms.append(nn.utils.clip_grad_norm_(model.parameters(), script["CLIP"]).item())
        optimizer.step()
    return model, norms


def test_four_ranks_on_a_mesh_train_and_clip_as_one_process(tmp_path):
    script: dict = {"__name__": "device_mesh"}
    exec((FOLDER / "device_mesh.py").read_text(), script)
    (line,) = printed("device_mesh.py", 4, str(tmp_path / "model.pt"))
    model, norms = serial(script)
    assert min(norms) < script["CLIP"] < max(norms)  # some steps are clipped, and some are not
    torch.testing.assert_close(torch.load(tmp_path / "model.pt"), dict(model.state_dict()), rtol=1e-4, atol=1e-5)
    found = re.fullmatch(r"2 copies: \(8, 8\) a rank; the last norm (\S+)", line)  # 32 rows by two axes
    assert found and abs(float(found[1]) - norms[-1]) < 1e-3
    x, y = script["share"](script["STEPS"])
    loss = (script["loss_sum"](model(x), y) / len(x)).item()
    assert loss < y.square().sum(1).mean() / 2  # it has learned something
