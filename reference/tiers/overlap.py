"""How long a step takes whose activations go down and come back: which copies are hidden, and which are not.

Idea      Layer i computes for forward[i] seconds and saves one tensor; write[i] and read[i] are the seconds of its
          copies, one at a time in each direction. There is room for `room` tensors. Three things can make the step
          wait: no room for what a layer saves, until an earlier write has ended; a tensor that is not back yet; and
          reads that could not begin, because there was no room.

              saved(i)   = max(saved(i - 1) + forward(i), written(i - room))
              written(j) = max(written(j - 1), saved(j)) + write(j)                    for the first L - room tensors
              used(i)    = max(used(i + 1) + backward(i + 1), back(i))
              back(j)    = max(back(j + 1), used(j + room - 1)) + read(j)              the read begins when one is free

          So nothing is exposed if each copy takes no longer than the layer beside it: bytes / bandwidth <= seconds.
Exact     It is the virtual clock of saved_tensors.py from the second step on, when each layer saves one tensor of one
          size and the program holds nothing else.
Source    Rhu et al., "vDNN: Virtualized Deep Neural Networks for Scalable, Memory-Efficient Neural Network Design"
          (MICRO 2016), section 3: offload and prefetch beside each layer.
"""

from __future__ import annotations

from collections.abc import Sequence


def offloaded_step(
    forward: Sequence[float], backward: Sequence[float], write: Sequence[float], read: Sequence[float], room: int
) -> float:
    """Seconds of a step of L layers; each argument has L values, in the order of the forward pass.

    room: how many of the tensors fit into the budget, 2 or more. Raises ValueError for less.
    """
    if room < 2:
        raise ValueError(f"one tensor is used while another comes: there must be room for 2 or more, got {room}")
    L = len(forward)
    saved, written = [0.0] * L, [0.0] * L
    now = free = 0.0
    for i in range(L):
        now = saved[i] = max(now + forward[i], written[i - room] if i >= room else 0.0)
        if i < L - room:
            free = written[i] = max(free, now) + write[i]
    used, free = [0.0] * L, 0.0
    for i in reversed(range(L)):
        if i < L - room:
            free = max(free, used[i + room - 1]) + read[i]
            now = max(now, free)
        used[i] = now
        now += backward[i]
    return now
