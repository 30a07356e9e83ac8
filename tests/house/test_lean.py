"""Processes of tests are spared torch's compiler (.ci/lean)."""

import os
import subprocess
import sys

PROGRAM = """
import sys, torch
w = torch.ones(2, requires_grad=True)
optimizer = torch.optim.SGD([w], 0.25, momentum=0.5)
for _ in range(3):
    optimizer.zero_grad()
    w.square().sum().backward()
    optimizer.step()
print(w.tolist(), "torch._dynamo" in sys.modules)
"""


def by_hand():
    w, velocity = 1.0, 0.0
    for _ in range(3):
        velocity = 0.5 * velocity + 2 * w
        w -= 0.25 * velocity
    return w


def test_an_optimizer_steps_without_the_compiler(ci):
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    lean = environment | {"PYTHONPATH": str(ci("chapters").LEAN)}
    done = subprocess.run([sys.executable, "-c", PROGRAM], env=lean, capture_output=True, text=True, check=True)
    w = by_hand()
    assert done.stdout.splitlines() == [f"{[w, w]} False"]


def test_another_sitecustomize_goes_first(ci, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", "/mine")
    ours = ci("chapters")
    assert ours.environment()["PYTHONPATH"] == os.pathsep.join(["/mine", str(ours.LEAN)])
