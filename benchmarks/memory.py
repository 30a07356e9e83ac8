"""Activation checkpointing by hand against torch.utils.checkpoint: seconds of a step, bytes that it needs.

    python benchmarks/memory.py                      # about a minute
    python benchmarks/memory.py --layers 12 --width 512 --turns 5
    python benchmarks/memory.py --solvers            # how long the best schedules take to find; some minutes

Every block of a GPT keeps its input only. All do one forward and one backward pass on the same tokens, in turns, each
turn in another order, for whoever follows the one that keeps everything finds the memory as that one left it. The ratio
of two times of one turn says more than either. Bytes are the meter's: the most activations that are live at a time.
Keeping everything is shown beside them. Aim: at most 1.0 times the seconds of torch with use_reentrant=True, which
needs the same bytes. With False torch leaves out the end of a block's second forward pass, which nothing needs, and so
needs a little less memory.

The solvers: the dynamic programme has a GPT of 12, 48 and 96 blocks, and its table is the curve for every budget at
once. Checkmate has one to three blocks as graphs of operations, and seven tenths of the bytes that keeping all takes.
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

from reference.models import GPT, TINY, Config, Data, loss_sum
from reference.models.gpt import Block
from reference.perf.meter import Meter
from reference.perf.roofline import device
from reference.recompute import Chain
from reference.recompute.carry_out import gpt_links
from reference.recompute.checkmate import checkmate, rounded
from reference.recompute.graph import recorded
from reference.recompute.measure import measured
from reference.recompute.policies import recompute
from reference.recompute.rematerialize import plan_cost
from reference.recompute.rotor import ChainTable

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


def seconds_of(work: Callable) -> float:
    """How long it takes, once."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def solvers() -> list[list]:
    """A row of each solver and size: seconds, and how large the problem is."""
    a100, tokens = device("A100 SXM"), torch.randint(TINY.vocabulary, (2, 2, TINY.length))
    model = GPT(TINY._replace(layers=1))
    embedding, block, head = measured(gpt_links(model, tokens[1]), tokens[0], model, a100).links
    rows: list[list] = []
    for layers in (12, 48, 96):
        chain = Chain((embedding, *[block] * layers, head))
        rows.append(["rotor", f"{layers} blocks", f"{seconds_of(partial(ChainTable, chain)):.2f}"])
    for blocks in (1, 2, 3):
        made = torch.nn.Sequential(*[Block(TINY) for _ in range(blocks)])
        graph = recorded(made, torch.randn(2, 16, TINY.width, requires_grad=True), a100)
        budget = int(0.7 * plan_cost(graph, range(len(graph))).peak)
        for name, solver in (("Checkmate", checkmate), ("Checkmate, rounded", rounded)):
            rows.append([name, f"{len(graph)} operations", f"{seconds_of(partial(solver, graph, budget)):.2f}"])
    return rows


def main() -> None:
    """Measure, and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--layers", type=int, default=8)
    parser.add_argument("--width", type=int, default=256)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--batch", type=int, default=4)
    parser.add_argument("--turns", type=int, default=15)
    parser.add_argument("--solvers", action="store_true", help="time the solvers instead")
    chosen = parser.parse_args()
    if chosen.solvers:
        print(tabulate(solvers(), ["solver", "size", "seconds"], disable_numparse=True))
        return
    if min(chosen.layers, chosen.width, chosen.length, chosen.batch, chosen.turns) < 1 or chosen.width % 8:
        parser.error("all numbers are at least 1, and --width a multiple of 8")
    torch.set_num_threads(1)
    config = Config(length=chosen.length, width=chosen.width, heads=8, layers=chosen.layers, dropout=0.1)
    rows = checkpointing(config, chosen.batch, chosen.turns)
    print(f"a step of a GPT of {chosen.layers} layers; median (quartiles) of {chosen.turns} turns; aim: {AIM} of torch")
    print(tabulate(rows, ["each block by", "seconds", "ours over it", "MB"], disable_numparse=True))


if __name__ == "__main__":
    main()
