"""Deterministic execution: a control loop with a small network, with and without preparation, and its jitter.

    python -m reference.realtime.deterministic
    python -m reference.realtime.deterministic --ticks 5000 --period 1

Idea      What surprises a loop is prepared before it: one shape, padded; memory that is allocated once and written
          with `out=`; every operation run before the first deadline; no garbage collection; one processor; and, where
          the system allows it, a real-time class (SCHED_FIFO) and memory that is never paged out (mlockall).
Before    each tick makes tensors of another shape, records them for a backward that nobody asks for, and may collect
After     each tick writes into the same memory; the results are the same
Price     Rows of padding, computed for nothing. A processor that others cannot have.
Exact     The results are equal to the last bits that another order of sums leaves. The times are measured: the worst
          is the worst that was seen, and no bound.
Left out  CUDA graphs and compiled kernels, which are the same idea on an accelerator; interrupts bound elsewhere.
Source    Linux, sched(7) and mlockall(2); PyTorch, torch.inference_mode.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import json
import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext

import numpy as np
import torch
from torch import Tensor

WIDTH, HIDDEN, OUT, MOST = 64, 128, 8, 8  # features of an object, hidden units, commands, objects at most
QUANTILES = {"p50": 50.0, "p99": 99.0, "p99.9": 99.9, "worst": 100.0}
CURRENT, FUTURE, ON_FAULT = 1, 2, 4  # of mlockall


def weights(seed: int = 0) -> tuple[Tensor, Tensor]:
    """Those of a network of two layers, (WIDTH, HIDDEN) and (HIDDEN, OUT)."""
    draw = torch.Generator().manual_seed(seed)
    shapes = (WIDTH, HIDDEN), (HIDDEN, OUT)
    first, second = (torch.randn(shape, generator=draw) / shape[0] ** 0.5 for shape in shapes)
    return first, second


class PlainController:
    """As one would write it: new tensors of the shape that is needed, with gradients recorded."""

    def __init__(self, first: Tensor, second: Tensor):
        self.first, self.second = first.clone().requires_grad_(), second.clone().requires_grad_()

    def step(self, objects: np.ndarray) -> Tensor:
        """Commands of shape (OUT,) for objects of shape (n, WIDTH): the sum over the objects."""
        x = torch.tensor(objects.tolist())
        return (torch.relu(x @ self.first) @ self.second).sum(0)


class PreparedController:
    """The same with one shape and memory of its own; run once when it is made."""

    def __init__(self, first: Tensor, second: Tensor):
        self.first, self.second = first, second
        self.x, self.hidden = torch.zeros(MOST, WIDTH), torch.zeros(MOST, HIDDEN)
        self.each, self.commands = torch.zeros(MOST, OUT), torch.zeros(OUT)
        self.inputs = self.x.numpy()  # the same memory
        self.step(np.zeros((1, WIDTH), np.float32))

    @torch.inference_mode()
    def step(self, objects: np.ndarray) -> Tensor:
        """The same; the commands stay until the next call."""
        self.inputs[: len(objects)] = objects
        self.inputs[len(objects) :] = 0  # rows of zeros add nothing
        torch.mm(self.x, self.first, out=self.hidden)
        self.hidden.relu_()
        torch.mm(self.hidden, self.second, out=self.each)
        return torch.sum(self.each, 0, out=self.commands)


@contextmanager
def undisturbed() -> Iterator[dict[str, str]]:
    """No collection, one processor, SCHED_FIFO, locked memory, until the end; yields what the system said to each."""
    said = {"garbage collection": "off"}
    collecting, processors, policy = gc.isenabled(), os.sched_getaffinity(0), os.sched_getscheduler(0)
    parameters = os.sched_getparam(0)
    gc.collect()
    gc.disable()
    libc = ctypes.CDLL(None, use_errno=True)
    try:
        said["one processor"] = _asked(lambda: os.sched_setaffinity(0, {max(processors)}))
        said["SCHED_FIFO"] = _asked(lambda: os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1)))
        said["mlockall"] = _asked(lambda: _checked(libc.mlockall(CURRENT | FUTURE | ON_FAULT)))
        yield said
    finally:
        libc.munlockall()
        if said.get("SCHED_FIFO") == "yes":
            os.sched_setscheduler(0, policy, parameters)
        os.sched_setaffinity(0, processors)
        if collecting:
            gc.enable()


def _asked(function: Callable[[], object]) -> str:
    try:
        function()
    except (OSError, AttributeError) as error:
        return f"no: {getattr(error, 'strerror', None) or error}"
    return "yes"


def _checked(status: int) -> None:
    if status:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def responses(step: Callable[[np.ndarray], object], ticks: int, period: float, seed: int = 0) -> np.ndarray:
    """Milliseconds from each release to its answer, shape (ticks,); a release every `period` ms."""
    draw = np.random.default_rng(seed)
    scenes = [draw.standard_normal((n, WIDTH), np.float32) for n in draw.integers(1, MOST + 1, ticks)]
    found, start = np.zeros(ticks), time.perf_counter() + period / 1e3
    for tick, objects in enumerate(scenes):
        release = start + tick * period / 1e3
        time.sleep(max(0.0, release - time.perf_counter()))
        step(objects)
        found[tick] = time.perf_counter() - release
    return found * 1e3


def compare(ticks: int, period: float) -> dict[str, dict]:
    """Both loops: quantiles of their responses in ms, and what the system said to the preparation."""
    plain, _ = measured(False, False, ticks, period)
    prepared, said = measured(True, True, ticks, period)
    return {"plain": plain, "prepared": prepared, "system": said}


def remedies(ticks: int, period: float) -> dict[tuple[bool, bool], dict[str, float]]:
    """Quantiles (ms) by (whether the step is prepared, whether the process is undisturbed): each alone, and both."""
    return {
        (step, process): measured(step, process, ticks, period)[0]
        for step in (False, True)
        for process in (False, True)
    }


def measured(step: bool, process: bool, ticks: int, period: float) -> tuple[dict[str, float], dict[str, str]]:
    """One loop: quantiles of its responses (ms), and what the system said if the process was to be undisturbed."""
    around: AbstractContextManager[dict[str, str]] = undisturbed() if process else nullcontext({})
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        with around as said:
            controller = (PreparedController if step else PlainController)(*weights())
            return quantiles(responses(controller.step, ticks, period)), said
    finally:
        torch.set_num_threads(threads)


def quantiles(values: np.ndarray) -> dict[str, float]:
    """The named quantiles; each is a value that was measured."""
    return {name: float(np.percentile(values, q, method="higher")) for name, q in QUANTILES.items()}


def count(text: str) -> int:
    """A number of ticks, 10 to a million. Raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or not 10 <= int(text[:8]) <= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of ticks from 10 to 1,000,000")
    return int(text)


def milliseconds(text: str) -> float:
    """A period, 0.1 to 1000 ms. Raises ArgumentTypeError for anything else."""
    try:
        if 0.1 <= float(text) <= 1000:
            return float(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is not a period from 0.1 to 1000 ms")


def parser(**options) -> argparse.ArgumentParser:
    """The command line."""
    words = "Measure the jitter of a control loop, as it is and prepared."
    p = argparse.ArgumentParser("python -m reference.realtime.deterministic", description=words, **options)
    p.add_argument("--ticks", type=count, default=1000, help="of each loop (default: 1000)")
    p.add_argument("--period", type=milliseconds, default=2.0, help="ms from tick to tick (default: 2)")
    p.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    return p


def main(argv: Sequence[str]) -> int:
    """The program; its exit status."""
    options = parser().parse_args(argv)
    found = compare(options.ticks, options.period)
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    print(f"from release to answer, ms, {options.ticks} ticks of {options.period:g} ms")
    print(f"{'loop':10}" + "".join(f"{name:>9}" for name in QUANTILES))
    for name in ("plain", "prepared"):
        print(f"{name:10}" + "".join(f"{found[name][q]:9.3f}" for q in QUANTILES))
    print("; ".join(f"{what}: {answer}" for what, answer in found["system"].items()))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
