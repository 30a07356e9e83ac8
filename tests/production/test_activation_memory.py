"""The script that chapter 12 shows: whatever is kept, moved or computed again, the losses are the same numbers."""

import torch

from reference.perf.meter import Meter

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS


def test_the_losses_are_those_of_the_run_that_keeps_everything():
    lines = {line.split()[0]: line.split()[1:] for line in printed("activation_memory.py", 2)}
    assert list(lines) == ["keep", "full", "selective", "offload"]
    assert all(losses == lines["keep"] for losses in lines.values())
    assert len(set(lines["keep"])) == 8, "it trains"


def test_less_is_kept_and_matrix_products_are_not_computed_again():
    script: dict = {"__name__": "activation_memory"}
    exec((FOLDER / "activation_memory.py").read_text(), script)
    peak, flops = {}, {}
    for way in ("keep", "full", "selective"):
        torch.manual_seed(0)
        model, x = script["build"](way), torch.randn(512, script["WIDTH"])
        with Meter(module=model) as meter:
            model(x).sum().backward()
        peak[way], flops[way] = meter.peak["activations"], meter.total.flops
    assert peak["full"] < 0.45 * peak["keep"] and peak["full"] < peak["selective"] < 0.8 * peak["keep"]
    assert flops["full"] > 1.3 * flops["keep"] and flops["selective"] < 1.02 * flops["keep"]
