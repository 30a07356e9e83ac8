"""The script that chapter 10 shows: three ranks with unequal shares train as one process does, each with its rows."""

import torch
from torch import nn

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS


def serial(script) -> nn.Module:
    """The same training on one process, without accumulation."""
    model = script["build"]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=script["RATE"])
    for step in range(script["STEPS"]):
        x, y = script["share"](step)
        optimizer.zero_grad()
        (script["loss_sum"](model(x), y) / len(x)).backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), script["CLIP"])
        assert step or norm > script["CLIP"]  # the first step is clipped
        optimizer.step()
    return model


def test_three_ranks_with_unequal_shares_train_as_one_process(tmp_path):
    script: dict = {"__name__": "fully_shard"}
    exec((FOLDER / "fully_shard.py").read_text(), script)
    (line,) = printed("fully_shard.py", 3, str(tmp_path / "model.pt"))
    model = serial(script)
    held = 3 * (3 * 8 + 3) + 8 + 1  # rows of 8: 3, 3 and 2; the last layer has one, and rank 0 has it
    assert line == f"3 ranks: rank 0 holds {held} of {3 * 72 + 9} parameters"
    torch.testing.assert_close(torch.load(tmp_path / "model.pt"), dict(model.state_dict()), rtol=1e-4, atol=1e-5)
    x, y = script["share"](script["STEPS"])
    loss = (script["loss_sum"](model(x), y) / len(x)).item()
    assert loss < (y - y.mean()).square().mean() / 3  # it has learned something
