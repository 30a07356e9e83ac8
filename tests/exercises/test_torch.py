"""An exercise that uses torch, and none before: a process that has torch forks more slowly (later.py)."""

import subprocess
import sys
from pathlib import Path

import numpy as np

from exercises.grading import Case, Distributed, Finding
from exercises.grading.grade import SOLVED, grade

TWO_RANKS = Case("2 ranks", ((np.arange(3.0),), (np.arange(3.0),)))
ANSWER = """
import torch


def answer(comm, x):
    return (torch.ones(300, 300) @ torch.ones(300, 1)).mean(), torch.get_num_threads()
"""


def test_collecting_tests_of_graders_imports_no_torch():
    modules = [f"{__package__}.{path.stem}" for path in Path(__file__).parent.glob("test_*.py")]
    command = f"import sys, {', '.join(modules)}; print('torch' in sys.modules)"
    root = Path(__file__).parents[2]
    said = subprocess.run([sys.executable, "-c", command], cwd=root, capture_output=True, text=True, check=True)
    assert said.stdout == "False\n"


def test_torch_is_ready_in_the_child_and_uses_one_thread(tmp_path):
    def check(case, answer):
        right = [(float(mean), threads) for mean, threads in answer.results] == [(300.0, 1)] * 2
        return None if right else Finding(repr(answer.results), "")

    path = tmp_path / "answer.py"
    path.write_text(ANSWER)
    verdict = grade(Distributed(lambda rng: [TWO_RANKS], [check], []), "answer", path, seed=0)
    assert verdict.state == SOLVED, verdict.finding
