"""The script that chapter 2 shows: three ranks with unequal shares train as one process does."""

import re

import torch
from torch import nn

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS


def serial(script) -> nn.Module:
    """The same training on one process, without accumulation."""
    model = script["build"]()
    optimizer = torch.optim.SGD(model.parameters(), lr=script["RATE"])
    for step in range(script["STEPS"]):
        x, y = script["share"](step)
        optimizer.zero_grad()
        (script["loss_sum"](model(x), y) / len(x)).backward()
        optimizer.step()
    return model


def test_three_ranks_with_unequal_shares_train_as_one_process(tmp_path):
    script: dict = {"__name__": "ddp"}
    exec((FOLDER / "ddp.py").read_text(), script)
    assert {len(script["share"](0, rank, 3)[0]) for rank in range(3)} == {16, 17}
    (line,) = printed("ddp.py", 3, str(tmp_path / "model.pt"))
    weights, _ = torch.load(tmp_path / "model.pt")
    model = serial(script)
    torch.testing.assert_close(weights, dict(model.state_dict()), rtol=1e-5, atol=1e-6)
    x, y = script["share"](script["STEPS"])
    loss = (script["loss_sum"](model(x), y) / len(x)).item()
    found = re.fullmatch(r"3 ranks, 20 steps: loss (\S+) on new samples", line)
    assert found and abs(float(found[1]) - loss) < 1e-3
    assert loss < (y - y.mean()).square().mean() / 3  # it has learned something
