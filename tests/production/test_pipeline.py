"""chapters/production/pipeline.py trains what one process trains: the same losses, step by step."""

import os
import re
import runpy
import socket
import subprocess
import sys

import pytest
import torch
from torch import nn

from reference.perf.pace import pace

from ..house.files import ROOT

SCRIPT = ROOT / "chapters/production/pipeline.py"
RANKS = """
import os, runpy, sys
import torch.distributed.pipelining
from torch.multiprocessing import start_processes

script, ranks, port = sys.argv[1], int(sys.argv[2]), sys.argv[3]

def run(rank):
    os.environ.update(RANK=str(rank), WORLD_SIZE=str(ranks), MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
    runpy.run_path(script, run_name="__main__")

start_processes(run, nprocs=ranks, start_method="fork")
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def in_a_pipeline(ranks: int) -> list[float]:
    """The losses that the script prints."""
    command = [sys.executable, "-c", RANKS, str(SCRIPT), str(ranks), str(free_port())]
    env = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, capture_output=True, text=True, env=env, timeout=60 * pace())
    assert done.returncode == 0, done.stderr
    return [float(loss) for loss in re.findall(r"step \d loss (\S+)", done.stdout)]


def in_one_process() -> list[float]:
    """The same training without a pipeline."""
    sizes = runpy.run_path(str(SCRIPT))
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
