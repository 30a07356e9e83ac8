"""The script that chapter 3 shows: it runs on two processes, learns both ways, and sends as little as it says."""

import os
import re
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from reference.perf.pace import pace

SCRIPT = Path(__file__).resolve().parents[2] / "chapters/production/powersgd_hook.py"
RANKS = 2
FORKED = """
import os, runpy
import torch, torch._dynamo, torch.multiprocessing as processes

def rank(number, script):
    torch.set_num_threads(1)
    os.environ["RANK"] = os.environ["LOCAL_RANK"] = str(number)
    runpy.run_path(script, run_name="__main__")

processes.start_processes(rank, ({script!r},), nprocs={ranks}, start_method="fork")
"""


@pytest.fixture(scope="module")
def printed():
    """What the script prints, its ranks forked with the environment that torchrun gives."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    told = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port), "WORLD_SIZE": str(RANKS), "OMP_NUM_THREADS": "1"}
    command = [sys.executable, "-c", FORKED.format(script=str(SCRIPT), ranks=RANKS)]
    done = subprocess.run(
        command, env={**os.environ, **told}, capture_output=True, text=True, timeout=100 * pace(), check=False
    )
    assert not done.returncode, done.stderr[-3000:]
    return done.stdout


def test_both_ways_learn(printed):
    """The loss of the zero function is 1: the mean square of 64 products of variance 1/64."""
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", printed)]
    assert len(losses) == 2 and all(loss < 0.9 for loss in losses)


def test_power_sgd_sends_the_factors_and_the_biases(printed):
    """Of 256 x 64 and 64 x 256 numbers, with rank 4: 4 (256 + 64) each, and 320 biases whole."""
    ratio = float(re.search(r"([\d.]+) times fewer", printed)[1])
    assert ratio == pytest.approx((2 * 256 * 64 + 320) / (2 * 4 * (256 + 64) + 320), abs=0.05)


def test_the_script_is_short_enough_to_be_read():
    assert 30 <= len(SCRIPT.read_text().splitlines()) <= 60
