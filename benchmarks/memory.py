"""Activation checkpointing by hand against torch.utils.checkpoint: seconds of a step, bytes that it needs.

    python benchmarks/memory.py                      # about a minute
    python benchmarks/memory.py --layers 12 --width 512 --turns 5

Every block of a GPT keeps its input only. All do one forward and one backward pass on the same tokens, in turns, each
turn in another order, for whoever follows the one that keeps everything finds the memory as that one left it. The ratio
of two times of one turn says more than either. Bytes are the meter's: the most activations that are live at a time.
Keeping everything is shown beside them. Aim: at most 1.0 times the seconds of torch with use_reentrant=True, which
needs the same bytes. With False torch leaves out the end of a block's second forward pass, which nothing needs, and so
needs a little less memory.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial

import numpy as np
import torch
from tabulate import tabulate
from torch.utils.checkpoint import checkpoint as torch_checkpoint
from tqdm import tqdm

from reference.models import GPT, Config, Data, loss_sum
from reference.perf.meter import Meter
from reference.recompute.policies import recompute

AIM = 1.0


def torchs(model: GPT, reentrant: bool) -> GPT:
    """Have torch checkpoint each block."""
    for block in model.blocks:
        block.forward = partial(torch_checkpoint, block.forward, use_reentrant=reentrant)
    return model


WAYS: dict[str, Callable[[GPT], GPT]] = {
    "ours": lambda model: recompute(model, "full"),
    "torch, reentrant": lambda model: torchs(model, True),
    "torch": lambda model: torchs(model, False),
    "nothing again": lambda model: model,
}


def step(model: GPT, data: Data) -> None:
    """Forward and backward."""
    loss_sum(model, data)[0].backward()


def peak(model: GPT, data: Data) -> int:
    """The most bytes of activations that are live in a step."""
    with Meter(module=model) as meter:
        step(model, data)
    return meter.peak["activations"]


def quartiles(values: np.ndarray, digits: int = 3) -> str:
    """A median with the quartiles around it."""
    low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
    return f"{median:.{digits}f} ({low:.{digits}f} to {high:.{digits}f})"


def checkpointing(config: Config, b: int, turns: int) -> list[list[str]]:
    """A row of each way: seconds, ours over its in the same turn, MB at the peak."""
    models = {name: way(GPT(config)) for name, way in WAYS.items()}
    data = Data(*torch.randint(config.vocabulary, (2, b, config.length)))
    nbytes = {name: peak(model, data) for name, model in models.items()}
    seconds, order = np.zeros((turns + 1, len(models))), np.random.default_rng(0)
    for row in tqdm(seconds, leave=False, disable=None):
        for number in order.permutation(len(models)):
            start = time.perf_counter()
            step(list(models.values())[number], data)
            row[number] = time.perf_counter() - start
    ours = seconds[1:, :1]
    return [
        [name, quartiles(own), quartiles(ours[:, 0] / own), f"{nbytes[name] / 1e6:.1f}"]
        for name, own in zip(models, seconds[1:].T)
    ]


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--turns", type=int, default=15)
    chosen = parser.parse_args()
    if min(vars(chosen).values()) < 1 or chosen.width % 8:
        parser.error("all numbers are at least 1, and --width a multiple of 8")
    torch.set_num_threads(1)
    config = Config(length=chosen.length, width=chosen.width, heads=8, layers=chosen.layers, dropout=0.1)
    rows = checkpointing(config, chosen.batch, chosen.turns)
    print(f"a step of a GPT of {chosen.layers} layers; median (quartiles) of {chosen.turns} turns; aim: {AIM} of torch")
    print(tabulate(rows, ["each block by", "seconds", "ours over it", "MB"], disable_numparse=True))


if __name__ == "__main__":
    main()
