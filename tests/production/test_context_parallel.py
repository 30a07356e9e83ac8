"""The script that chapter 7 shows: four ranks with a quarter of each sequence train as one process does."""

import re

import torch
import torch.nn.functional as F
from torch import nn

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS


def serial(script) -> tuple[nn.Module, float]:
    """The same training on one process, which has all tokens of all heads."""
    torch.manual_seed(0)
    model, places = script["Model"](), torch.arange(script["TOKENS"])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
    for _ in range(script["STEPS"]):
        x = torch.randint(script["WORDS"], (script["BATCH"], script["TOKENS"] // 2)).repeat(1, 2)
        y = x.roll(-1, 1).index_fill(1, script["HALF"], -100)
        loss = F.cross_entropy(model(x, places, lambda x, *_: x).mT, y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model, loss.item()


def test_four_ranks_train_as_one_process(tmp_path):
    script: dict = {"__name__": "context_parallel"}
    exec((FOLDER / "context_parallel.py").read_text(), script)
    (line,) = printed("context_parallel.py", 4, str(tmp_path / "model.pt"))
    with torch.random.fork_rng():
        model, loss = serial(script)
    torch.testing.assert_close(torch.load(tmp_path / "model.pt"), dict(model.state_dict()), rtol=1e-3, atol=1e-4)
    found = re.fullmatch(r"4 ranks, 4 tokens each: loss (\S+)", line)
    assert found and abs(float(found[1]) - loss) < 2e-3
    assert loss < 0.2  # of log 4 = 1.39 for somebody who cannot look back
