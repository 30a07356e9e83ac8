"""The script that chapter 6 shows: four ranks train as one process does, and each keeps a quarter of both layers."""

import re

import torch
from torch import nn

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS


def serial(script) -> tuple[nn.Module, float]:
    """The same training on one process."""
    torch.manual_seed(0)
    model = script["FeedForward"]()
    optimizer = torch.optim.SGD(model.parameters(), lr=script["RATE"])
    for _ in range(script["STEPS"]):
        x = torch.randn(script["BATCH"], script["TOKENS"], script["WIDTH"])
        loss = (model(x) - x.flip(-1).tanh()).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, loss.item()


def test_four_ranks_train_as_one_process(tmp_path):
    script: dict = {"__name__": "tensor_parallel"}
    exec((FOLDER / "tensor_parallel.py").read_text(), script)
    (line,) = printed("tensor_parallel.py", 4, str(tmp_path / "model.pt"))
    with torch.random.fork_rng():
        model, loss = serial(script)
    torch.testing.assert_close(torch.load(tmp_path / "model.pt"), dict(model.state_dict()), rtol=1e-4, atol=1e-5)
    found = re.fullmatch(r"4 ranks, 60 steps: loss (\S+); \(16, 16\) a rank", line)
    assert found and abs(float(found[1]) - loss) < 1e-3
    assert loss < 0.15  # of a variance of about 0.4: it has learned something
