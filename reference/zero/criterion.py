"""Which stage: the fastest of those that fit, from the tokens of a rank, the network and the memory.

Idea      A unit of g parameters computes 2 g t / F seconds forward on t tokens of one micro-batch, twice that backward,
          on a device of F FLOPs a second. To gather it takes w g beta seconds, a latency and (P - 1) / P left out, to
          reduce its gradients as long. Units compute one after the other while the next one's weights arrive, so

              stage 3 costs no time where   2 g t / F >= w g beta,   that is, where   t >= w F beta / 2

          (w = 2: t >= F beta). The number of parameters cancels. It decides what fits, and nothing else.
Before    "Below 10B parameters stage 1 or 2, above it stage 3."
After     `best` reckons the step of every stage and every way to cut a rank's tokens into K micro-batches, leaves out
          what does not fit, and takes the fastest; of equals the lowest stage, for it needs the least of the network.
Exact     `units_in_turn` is the clock of the virtual cluster where messages and additions cost what `Machine` says.
Left out  Attention's FLOPs; what small products lose of a device's speed, so that more micro-batches cost no time to
          compute; recomputation; that communication takes from the computation.
Source    Rajbhandari et al. (2020), sections 5 and 7, for memory and volume; the rest is arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..perf.recipes import ADAM_MIXED, Recipe
from .memory import Setting, peak, states


class Machine(NamedTuple):
    """One of P equal ranks: FLOPs per second that it really does, bytes of memory, and its link to the next.

    alpha, beta: seconds of a message and of each of its bytes, in a ring over all ranks.
    """

    flops: float
    memory: float
    alpha: float
    beta: float


class Workload(NamedTuple):
    """What is trained: equal units of so many parameters, and this many tokens on each rank in one step.

    kept: bytes of activations of one token in one unit; working: more of them while its backward pass runs.
    """

    units: int
    parameters_a_unit: int
    tokens: int
    kept: float = 0.0
    working: float = 0.0
    recipe: Recipe = ADAM_MIXED

    @property
    def parameters(self) -> int:
        """Psi."""
        return self.units * self.parameters_a_unit


class Plan(NamedTuple):
    """A way to do it: the stage, K micro-batches, seconds of a step, bytes of the peak on each rank."""

    stage: int
    K: int
    seconds: float
    nbytes: int


# Time -----------------------------------------------------------------------------------------------------------------


def units_in_turn(units: int, compute: float, before: float, after: float) -> float:
    """Seconds of a pass: before each unit a message has to have arrived, after each one another message leaves.

    The next unit's message and that of the unit before travel, one after the other, while a unit computes:

        before + max(compute, before) + (units - 2) max(compute, before + after) + max(compute, after) + after
    """
    if units == 1:
        return before + compute + after
    inner = (units - 2) * max(compute, before + after)
    return before + max(compute, before) + inner + max(compute, after) + after


def message(machine: Machine, P: int, elements: int, itemsize: float) -> float:
    """Seconds of an all-gather or reduce-scatter of a whole unit among P ranks, by a ring."""
    return (P - 1) * (machine.alpha + -(-elements // P) * itemsize * machine.beta)


def step_seconds(job: Workload, stage: int, P: int, machine: Machine, K: int = 1, ahead: bool = False) -> float:
    """Seconds of a step in K micro-batches, without the optimizer's own.

    stage 0  the last backward pass hides all-reduces, as long as a reduce-scatter and an all-gather
    stage 1  the last backward pass hides reduce-scatters; then new weights are gathered, while nothing computes
    stage 2  every backward pass hides reduce-scatters, so that no rank keeps whole gradients; gathers as in stage 1
    stage 3  every forward pass hides gathers, every backward pass gathers and reduce-scatters

    ahead: stages 1 and 2 gather the new weights of a unit while the one before it computes the next forward pass.
    """
    g, U = job.parameters_a_unit, job.units
    forward = 2 * g * job.tokens / K / machine.flops
    gather, reduce = (message(machine, P, g, each) for each in job.recipe[:2])

    def forth(arriving: float) -> float:
        return units_in_turn(U, forward, arriving, 0.0)

    def back(arriving: float, leaving: float) -> float:
        return units_in_turn(U, 2 * forward, arriving, leaving)

    new_weights = forth(gather) - forth(0.0) if ahead else U * gather
    if stage == 3:
        return K * (forth(gather) + back(gather, reduce))
    if stage == 2:
        return new_weights + K * (forth(0.0) + back(0.0, reduce))
    plain = (K - 1) * (forth(0.0) + back(0.0, 0.0))
    if stage == 1:
        return plain + forth(0.0) + back(0.0, reduce) + new_weights
    return plain + forth(0.0) + back(0.0, 2 * reduce)


def hidden_from(machine: Machine, P: int, parameters_a_unit: int, recipe: Recipe = ADAM_MIXED) -> float:
    """Tokens of a micro-batch from which on stage 3 waits for nothing but its first gather and its last reduce-scatter.

    About F beta with 16 bits each way. Latencies count for more in smaller units.
    """
    gather, reduce = (message(machine, P, parameters_a_unit, each) for each in recipe[:2])
    return max(gather / 2, (gather + reduce) / 4) * machine.flops / parameters_a_unit


# Memory, and the choice -----------------------------------------------------------------------------------------------


def setting(job: Workload, stage: int, P: int, K: int = 1) -> Setting:
    """The job as memory.py sees it."""
    kept, working = (round(each * job.tokens / K) for each in (job.kept, job.working))
    groups, activations = (job.parameters_a_unit,) * job.units, (kept,) * job.units
    return Setting(groups, P, stage, job.recipe, activations=activations, working=working)


def plan(job: Workload, stage: int, P: int, machine: Machine, K: int = 1, ahead: bool = False) -> Plan:
    """What this stage takes in K micro-batches, whether it fits or not."""
    within = setting(job, stage, P, K)
    return Plan(stage, K, step_seconds(job, stage, P, machine, K, ahead), peak(within, ends(within)).held.total)


def ends(within: Setting) -> list[int]:
    """Groups of which one is at the peak, where all are alike: from one end to the other, bytes change evenly."""
    last, near = len(within.groups) - 1, within.prefetch + within.waiting
    return sorted({i for k in range(near + 1) for i in (k, last - k) if 0 <= i <= last})


def best(job: Workload, P: int, machine: Machine, most: int = 64, ahead: bool = False) -> Plan | None:
    """The fastest plan that fits, in 1, 2, 4, ... micro-batches and `most` of them, to a thousandth.

    Of equals the one of the lowest stage, then of the fewest micro-batches. None if nothing fits.
    """
    Ks = [2**k for k in range(most.bit_length()) if 2**k <= min(job.tokens, most)]
    seconds = {(stage, K): step_seconds(job, stage, P, machine, K, ahead) for stage in range(4) for K in Ks}

    def first_that_fits(ways: Iterable[tuple[int, int]]) -> Plan | None:
        able = [way for way in ways if states(job.parameters, way[0], P, job.recipe) <= machine.memory]
        found = (plan(job, stage, P, machine, K, ahead) for stage, K in able)
        return next((one for one in found if one.nbytes <= machine.memory), None)

    fastest = first_that_fits(sorted(seconds, key=lambda way: seconds[way]))
    if fastest is None:
        return None
    return first_that_fits(sorted(way for way, taken in seconds.items() if taken <= 1.001 * fastest.seconds))
