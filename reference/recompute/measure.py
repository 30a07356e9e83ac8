"""The costs of a chain's links, measured: bytes under the meter, seconds reckoned for a device or by the clock.

Idea      One schedule has every operation that there is: all links forward without a record, then all with it, then
          back. Under the meter it tells what each operation leaves, and how much it needs at its peak.
Exact     In bytes. What a pass allocates depends on shapes only, not on when it takes place: so the bytes of any other
          schedule follow (predict.py).
Left out  Caches: the second pass of a link finds its weights there, perhaps, and is faster than the first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from time import perf_counter

from torch import Tensor, nn

from ..perf.meter import Meter
from ..perf.roofline import Device
from .carry_out import ChainLinks, carry_out
from .chain import Chain, ChainOperation, LinkCost, Operations, backward, forward
from .checkpoint import GLOBAL, Random
from .predict import OperationBytes


def every_operation(n: int) -> list[ChainOperation]:
    """A schedule in which each link goes forward without a record, with it, and backward."""
    once = [forward(0, "input")] + [forward(i) for i in range(1, n)]
    return once + [forward(i, "all") for i in range(n)] + [backward(i) for i in reversed(range(n))]


def watched(
    links: ChainLinks,
    x: Tensor,
    operations: Operations,
    module: nn.Module | None = None,
    device: Device | None = None,
    random: Sequence[Random] = GLOBAL,
) -> list[OperationBytes]:
    """The schedule carried out under the meter: each operation's seconds on the device, and live bytes of activations.

    module: whose weights and gradients are no activations. Its gradients should be None before, as in a first step.
    """
    found: list[OperationBytes] = []
    with Meter(device=device, module=module) as meter:
        memory = meter.memory

        @contextmanager
        def around(operation: ChainOperation) -> Iterator[None]:
            begin, before = meter.total.seconds, memory.live["activations"]
            memory.peak["activations"] = before
            yield
            peak, after = memory.peak["activations"], memory.live["activations"]
            found.append(OperationBytes(operation, begin, meter.total.seconds, before, peak, after))

        carry_out(links, x, operations, random=random, around=around)
    return found


def by_the_clock(links: ChainLinks, x: Tensor, operations: Operations, times: int = 5) -> list[float]:
    """Seconds of each operation of the schedule on this machine: the least of so many runs."""
    runs = []
    for _ in range(times):
        seconds: list[float] = []

        @contextmanager
        def around(operation: ChainOperation, seconds: list[float] = seconds) -> Iterator[None]:
            begin = perf_counter()
            yield
            seconds.append(perf_counter() - begin)

        carry_out(links, x, operations, around=around)
        runs.append(seconds)
    return [min(one) for one in zip(*runs)]


def measured(
    links: ChainLinks,
    x: Tensor,
    module: nn.Module | None = None,
    device: Device | None = None,
    random: Sequence[Random] = GLOBAL,
) -> Chain:
    """The chain that these links are. x: what enters; it needs a gradient or not, as in training.

    device: whose seconds are reckoned; None: this machine's, by the clock. The last link's output is one number. The
    gradients of the module are added to, and belong to nothing afterwards: set them to None.
    """
    n = len(links)
    operations = every_operation(n)
    steps = watched(links, x, operations, module, device, random)
    seconds = [step.end - step.begin for step in steps] if device else by_the_clock(links, x, operations)
    once, all_kept, back = range(n), range(n, 2 * n), range(3 * n - 1, 2 * n - 1, -1)
    outputs = list(sizes(steps[:n]))
    left = [steps[k].after - steps[k].before for k in all_kept]
    internals = [more - output for more, output in zip(left, [*outputs[:-1], 0])]  # the last one replaces a[n]
    gradient = steps[-1].after - outputs[-1]

    def above(number: int) -> int:
        return steps[number].peak - steps[number].before

    holds = [False] * n  # whether a[i + 1] outlives link i + 1's backward pass: it gives way to d[i + 1] else
    for i in reversed(range(n - 1)):
        step, dropped = steps[back[i + 1]], outputs[i + 1] * ((i + 2 < n) + holds[i + 1])  # d[i + 2], perhaps a[i + 2]
        holds[i] = step.after != step.before - internals[i + 1] - dropped
    return Chain(
        tuple(
            LinkCost(
                seconds[once[i]],
                seconds[back[i]],
                outputs[i],
                internals[i],
                holds[i],
                above(once[i]),
                above(all_kept[i]),
                above(back[i]),
            )
            for i in range(n)
        ),
        gradient,
    )


def sizes(steps: Sequence[OperationBytes]) -> Iterator[int]:
    """Bytes of each link's output, from a pass that keeps what enters and nothing else."""
    dropped = 0
    for step in steps:
        dropped += step.after - step.before
        yield dropped
