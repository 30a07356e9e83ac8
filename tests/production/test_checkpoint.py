"""The script that chapter 13 shows: stopped after a save and resumed on fewer ranks, it trains as one process does."""

import shutil
from pathlib import Path

import torch
import torch.distributed.checkpoint as dcp
from torch import nn

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS


def serial(script) -> nn.Module:
    """The same training on one process, without an interruption."""
    model = script["build"]()
    optimizer = torch.optim.AdamW(model.parameters(), lr=script["RATE"])
    for step in range(script["STEPS"]):
        x, y = script["share"](step)
        optimizer.zero_grad()
        nn.functional.mse_loss(model(x), y).backward()
        optimizer.step()
    return model


def saved(folder: Path, model: nn.Module) -> dict[str, torch.Tensor]:
    """The whole weights of a checkpoint, whatever ranks have written it."""
    whole = {f"training.model.{name}": torch.zeros_like(x) for name, x in model.state_dict().items()}
    dcp.load(whole, checkpoint_id=folder, no_dist=True)
    return {name.removeprefix("training.model."): x for name, x in whole.items()}


def test_resumed_on_another_number_of_ranks_it_trains_as_one_process(tmp_path):
    script: dict = {"__name__": "checkpoint"}
    exec((FOLDER / "checkpoint.py").read_text(), script)
    model, last = serial(script), tmp_path / f"step_{script['STEPS']:06}"
    assert sorted(printed("checkpoint.py", 4, str(tmp_path))) == [f"rank {r} of 4 begins at step 0" for r in range(4)]
    torch.testing.assert_close(saved(last, model), dict(model.state_dict()), rtol=1e-4, atol=1e-5)
    shutil.rmtree(last)
    before = script["STEPS"] - script["EVERY"]
    (tmp_path / f"step_{before:06}" / ".metadata").unlink()  # killed while it was written: it does not count
    before -= script["EVERY"]
    lines = sorted(printed("checkpoint.py", 2, str(tmp_path)))
    assert lines == [f"rank {r} of 2 begins at step {before}" for r in range(2)]
    torch.testing.assert_close(saved(last, model), dict(model.state_dict()), rtol=1e-4, atol=1e-5)
