"""How fast the virtual cluster is: messages a second, bytes of memory a message, and a training step on 32 ranks.

    python benchmarks/worlds.py

Prints each figure as the median of some runs with its quartiles, beside the aim. Timeline and counters are on.
"""

from __future__ import annotations

import time
import tracemalloc

import numpy as np
from tabulate import tabulate
from tqdm import tqdm

from reference.collectives.evaluate import evaluate
from reference.collectives.ring import ring_allreduce_rounds
from reference.verify import compare
from reference.worlds import launch, networks


def neighbours(comm, steps):
    """Every rank sends 8 bytes to the right and receives from the left, `steps` times."""
    outgoing, incoming = np.zeros(1), np.zeros(1)
    right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
    for _ in range(steps):
        comm.Sendrecv(outgoing, right, 0, incoming, left, 0)


def messages_a_second(ranks: int, messages: int = 32_000) -> float:
    """Messages per second of real time."""
    start = time.perf_counter()
    run = launch(neighbours, ranks, messages // ranks)
    return sum(run.messages) / (time.perf_counter() - start)


def bytes_a_message(messages: int) -> float:
    """Memory that a launch of that many messages still holds when it has ended, a message."""
    tracemalloc.start()
    run = launch(neighbours, 8, messages // 8)
    held, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    return held / sum(run.messages)


def train(comm, steps):
    """A small network; each gradient is summed by a blocking collective from a hook inside backward."""
    import torch

    from reference import mpi

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 128), torch.nn.ReLU(), torch.nn.Linear(128, 10))
    for parameter in model.parameters():
        parameter.register_post_accumulate_grad_hook(lambda p: comm.Allreduce(mpi.IN_PLACE, p.grad))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    generator = torch.Generator().manual_seed(comm.rank)
    for _ in range(steps):
        x = torch.randn(8, 64, generator=generator)
        optimizer.zero_grad()
        (model(x).square().mean() / comm.size).backward()
        optimizer.step()
    return float(sum(parameter.detach().double().sum() for parameter in model.parameters()))


def train_seconds(ranks: int, steps: int) -> float:
    """Real seconds for some steps of training; every rank must end with the same weights."""
    start = time.perf_counter()
    run = launch(train, ranks, steps, timeout=300)
    seconds = time.perf_counter() - start
    if not (found := compare(run.results, run.results[:1] * ranks)):
        raise SystemExit(f"NOT VERIFIED: the ranks' weights differ: {found.why}")
    return seconds


def evaluate_seconds(ranks: int) -> float:
    """Real seconds to time a ring all-reduce for all ranks at once."""
    start = time.perf_counter()
    evaluate(ring_allreduce_rounds, ranks, 10**7, 4, networks.uniform(5e-6, 2e-11))
    return time.perf_counter() - start


CASES = [
    ("messages a second, 2 ranks", lambda: messages_a_second(2), 5, "30,000"),
    ("messages a second, 64 ranks", lambda: messages_a_second(64), 5, "30,000"),
    ("messages a second, 512 ranks", lambda: messages_a_second(512), 3, ""),
    ("bytes held a message, 8,000 messages", lambda: bytes_a_message(8_000), 1, "constant"),
    ("bytes held a message, 64,000 messages", lambda: bytes_a_message(64_000), 1, "constant"),
    ("seconds, 10 training steps on 32 ranks", lambda: train_seconds(32, 10), 3, "a few"),
    ("seconds, a ring on 10,000 ranks at once", lambda: evaluate_seconds(10_000), 3, "a few"),
]


def main() -> None:
    """Run all cases and print the table."""
    rows = []
    for name, case, repeat, aim in tqdm(CASES, leave=False):
        values = [case() for _ in range(repeat)]
        low, median, high = np.quantile(values, [0.25, 0.5, 0.75])
        rows.append([name, f"{median:,.1f}", f"{low:,.1f} .. {high:,.1f}", aim])
    print(tabulate(rows, ["", "median", "quartiles", "aim"], disable_numparse=True, stralign="right"))


if __name__ == "__main__":
    main()
