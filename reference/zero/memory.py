"""The memory of ZeRO: what a rank holds of each kind, between steps and at every moment of a step, in exact bytes.

Idea      Parameters travel in groups: buckets in stages 1 and 2, units in stage 3. A group of g parameters is cut among
          S ranks into shards of n = ceil(g / S) elements, the same n on every rank: the last one is padded. With
          w, o, kappa bytes of weights, gradients and optimizer state a parameter (perf/recipes.py), and Psi parameters
          in groups that S divides, a rank holds when the optimizer takes its step

              stage 0  (w + o + kappa) Psi             data parallelism: nothing is cut
              stage 1  (w + o) Psi + kappa Psi / S     the optimizer's state is
              stage 2  w Psi + (o + kappa) Psi / S     and the gradients
              stage 3  (w + o + kappa) Psi / S         and the weights

          With w = o = 2 these are the paper's: (2 + 2 + kappa) Psi and so on.
After     A step needs more than that. `moments` goes through it, group by group: activations pile up and are freed,
          units are gathered and freed, whole gradients of a group are packed and wait for their reduce-scatter. The
          peak is the largest moment. So stage 3 with one unit for the whole model saves little at the peak.
Exact     Equal to the byte, padding included, to what ranks of the virtual cluster hold with flat shards, but for given
          activations, and (up to 16 % off) stage 2's gradients if a bucket has several tensors or packed ones wait.
Left out  What operations need while they run; what an allocator keeps.
Source    Rajbhandari et al., "ZeRO: Memory Optimizations Toward Training Trillion Parameter Models" (2020), section 5;
          Wang et al., "ZeRO++: Extremely Efficient Collective Communication for Giant Model Training" (2023), for the
          second copy of the weights inside a node.
Try       python -m reference.memory --parameters 70e9 --ranks 16 --stage 2 --recipe adam
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..perf.recipes import ADAM_MIXED, Recipe

STAGES = (0, 1, 2, 3)
OFFLOADS = {"none": 0, "optimizer": 1, "all": 3}
"""What can be in the second tier, and from which stage on."""


class Held(NamedTuple):
    """Bytes of one rank by kind.

    weights, gradients, optimizer  what the stage leaves on this rank
    gathered                       whole weights of units, which are there for a while
    buckets                        whole gradients of groups: as they are made, packed, and on their way to their owners
    activations                    kept for the backward pass
    """

    weights: int = 0
    gradients: int = 0
    optimizer: int = 0
    gathered: int = 0
    buckets: int = 0
    activations: int = 0

    @property
    def total(self) -> int:
        """All of them."""
        return sum(self)


KINDS = Held._fields


class Moment(NamedTuple):
    """A moment of a step: what happens, to which group (None: to all), and what the rank holds meanwhile."""

    what: str
    group: int | None
    held: Held


class Setting(NamedTuple):
    """How a model is trained: everything that its memory depends on.

    groups       parameters of each group, in the order of the forward pass: buckets, or units of stage 3
    P            ranks of data parallelism
    stage        0 to 3
    recipe       bytes a parameter
    reduced      bytes of an element of a gradient that travels and is added up, and in the shard; 0: the recipe's
    rounded      stage 3: the weights that travel are rounded from the optimizer's copy, and no shard of them is kept
    shard_group  S, ranks among which a group is cut; 0: all P. Less than P is hybrid sharding
    reshard      stage 3: a unit is freed after its forward pass and gathered again for its backward pass
    prefetch     stage 3: units that are gathered ahead of the one that computes
    waiting      stages 2 and 3: packed groups whose memory is still there while the next one is packed
    root         stage 3: parameters of no unit (or of several), which are whole from the forward to the backward pass
    secondary    stage 3, ZeRO++: ranks of a node that hold a second copy of the weights together; 0: there is none
    offload      "optimizer": gradient shards and optimizer state are in the second tier; "all": weight shards, too
    activations  bytes that each group keeps from its forward pass to its backward pass; () or one entry a group
    working      bytes that a group needs in addition while its backward pass runs: what is computed again
    elements     n of each group where it is not ceil(g / S), as for shards by rows; () or one entry a group
    """

    groups: tuple[int, ...]
    P: int
    stage: int
    recipe: Recipe = ADAM_MIXED
    reduced: int = 0
    rounded: bool = False
    shard_group: int = 0
    reshard: bool = True
    prefetch: int = 1
    waiting: int = 1
    root: int = 0
    secondary: int = 0
    offload: str = "none"
    activations: tuple[int, ...] = ()
    working: int = 0
    elements: tuple[int, ...] = ()

    @property
    def S(self) -> int:
        """Ranks among which a group is cut."""
        return (self.shard_group or self.P) if self.stage else 1

    @property
    def parameters(self) -> int:
        """Psi, without padding."""
        return sum(self.groups) + self.root

    @property
    def root_shard(self) -> int:
        """n of the root's group."""
        return -(-self.root // self.S)

    @property
    def shards(self) -> list[int]:
        """n of each group: elements of its shard, padded."""
        return list(self.elements) or [-(-g // self.S) for g in self.groups]

    @property
    def padded(self) -> list[int]:
        """S n of each group: elements of the whole group as it is gathered and reduced."""
        return [self.S * n for n in self.shards]

    @property
    def kept(self) -> list[int]:
        """Bytes of activations of each group."""
        return list(self.activations) or [0] * len(self.groups)


def check(setting: Setting) -> None:
    """Raise ValueError that names what makes no sense in a setting."""
    if not setting.groups or any(g < 1 for g in setting.groups):
        raise ValueError(f"each group has at least 1 parameter, got {list(setting.groups)[:9]}")
    if setting.root and setting.stage < 3:
        raise ValueError(f"a root is for stage 3, got stage {setting.stage}")
    if setting.stage not in STAGES:
        raise ValueError(f"the stage is 0, 1, 2 or 3, got {setting.stage}")
    if setting.P < 1:
        raise ValueError(f"there is at least 1 rank, got {setting.P}")
    for name, ranks in (("a shard group", setting.shard_group), ("a second copy", setting.secondary)):
        if ranks < 0 or (ranks and setting.P % ranks):
            raise ValueError(f"{name} is of a number of ranks that divides {setting.P}, got {ranks}")
    if setting.offload not in OFFLOADS:
        raise ValueError(f"offload is one of {', '.join(OFFLOADS)}, got {setting.offload!r}")
    if setting.stage < OFFLOADS[setting.offload]:
        raise ValueError(f"offload {setting.offload!r} needs stage {OFFLOADS[setting.offload]}, got {setting.stage}")
    if setting.secondary and setting.stage != 3:
        raise ValueError(f"a second copy of the weights is for stage 3, got stage {setting.stage}")
    if not len(setting.kept) == len(setting.shards) == len(setting.groups):
        raise ValueError(f"activations and elements have an entry for each of {len(setting.groups)} groups, or none")


def owned(setting: Setting) -> int:
    """Elements of all shards of one rank, with padding."""
    return sum(setting.shards) + setting.root_shard


def at_step(setting: Setting) -> Held:
    """What a rank owns when the optimizer takes its step, on its device and in the second tier together, in bytes."""
    check(setting)
    (w, o, kappa), n = setting.recipe, owned(setting)
    copy = setting.P // setting.secondary * n if setting.secondary else 0
    shards, whole = (0 if setting.rounded else w * n) + w * copy, setting.S * n
    return Held(
        weights=shards if setting.stage == 3 else w * whole,
        gradients=_element(setting) * n if setting.stage >= 2 else o * whole + _apart(setting) * n,
        optimizer=kappa * n,
    )


def _element(setting: Setting) -> int:
    """Bytes of an element of a gradient once it is packed."""
    return setting.reduced or setting.recipe.gradients


def _apart(setting: Setting) -> int:
    """The same where whole gradients stay: 0 if they travel, and are added up, in their own memory."""
    return 0 if setting.stage == 0 or _element(setting) == setting.recipe.gradients else setting.reduced


def second_tier(setting: Setting) -> Held:
    """What a rank keeps in the second tier when the optimizer takes its step: what is offloaded, in bytes."""
    optimizer, n = at_step(setting).optimizer, owned(setting)
    if setting.offload == "none":
        return Held()
    return Held(setting.recipe.weights * n if setting.offload == "all" else 0, _element(setting) * n, optimizer)


def between(setting: Setting) -> Held:
    """What a rank's device holds between two steps, in bytes: of gradients only the memory of whole ones."""
    there, away = at_step(setting), second_tier(setting)
    whole = setting.recipe.gradients * setting.S * owned(setting) if setting.stage < 2 else 0
    return Held(there.weights - away.weights, whole, there.optimizer - away.optimizer)


# A step, moment by moment ---------------------------------------------------------------------------------------------


def moments(setting: Setting, at: Sequence[int] | None = None) -> Iterator[Moment]:
    """The moments of a step in their order, on the device; at: of these groups only, in ascending order.

    between steps; forward and backward of each group; reduce: its weights are free and its gradients are packed;
    optimizer: the step of the shard. In stages 1 and 2 new weights arrive in the memory of the old ones.
    """
    base, at = between(setting), range(len(setting.groups)) if at is None else at
    yield Moment("between steps", None, base)
    for i in at:
        held = base._replace(gathered=_gathered(setting, i, "forward"), activations=sum(setting.kept[: i + 1]))
        yield Moment("forward", i, held)
    for i in reversed(at):
        for what in ("backward", "reduce"):
            kept = sum(setting.kept[: i + 1]) + setting.working
            held = base._replace(gathered=_gathered(setting, i, what), activations=kept)
            yield Moment(what, i, held._replace(**_gradients(setting, i, packed=what == "reduce")))
    if setting.root:
        packed = setting.recipe.gradients * setting.root + _element(setting) * setting.S * setting.root_shard
        shards = _shards(setting, 0, _element(setting)) + _element(setting) * setting.root_shard
        yield Moment("reduce", None, base._replace(gradients=shards, buckets=packed))
    away = second_tier(setting).gradients if setting.stage >= 2 else 0
    yield Moment("optimizer", None, base._replace(gradients=at_step(setting).gradients - away))


def _gathered(setting: Setting, i: int, what: str) -> int:
    """Bytes of whole weights while unit i computes, with the root's and those that are gathered ahead."""
    if setting.stage < 3:
        return 0
    if what == "forward":
        first, end = (i if setting.reshard else 0), i + setting.prefetch
    else:
        first, end = (max(i - setting.prefetch, 0) if setting.reshard else 0), (i if what == "backward" else i - 1)
    return setting.recipe.weights * (sum(setting.padded[first : end + 1]) + setting.S * setting.root_shard)


def _gradients(setting: Setting, i: int, packed: bool) -> dict[str, int]:
    """Bytes of gradients while group i's are made, or packed; those of the groups after it came before."""
    first = i if packed else i + 1
    each = _element(setting) if setting.stage >= 2 else _apart(setting)
    way = each * sum(setting.padded[first : first + 1 + setting.waiting])
    if setting.stage < 2:
        whole = setting.recipe.gradients * setting.S * owned(setting)
        return {"gradients": whole + _shards(setting, first, each), "buckets": way}
    made = setting.recipe.gradients * (setting.groups[i] + setting.root)
    return {"gradients": _shards(setting, first, each), "buckets": made + way}


def _shards(setting: Setting, first: int, each: int) -> int:
    """Bytes of the gradients' shards from a group on; what is offloaded leaves when it has arrived."""
    end = first + 1 + setting.waiting if setting.offload != "none" else None
    return each * sum(setting.shards[first:end])


def peak(setting: Setting, at: Sequence[int] | None = None) -> Moment:
    """The moment with the most bytes, the first of equals; at: of these groups only."""
    return max(moments(setting, at), key=lambda moment: moment.held.total)


# The paper's formulas, which have no padding, no buckets and no gathered units ---------------------------------------


def bytes_a_parameter(stage: int, P: int, recipe: Recipe = ADAM_MIXED) -> float:
    """Bytes a rank holds for each parameter of the model: the limit of `at_step` where P divides every group.

    Raises ValueError for a stage or a P that there is not.
    """
    check(Setting((1,), P, stage, recipe))
    return sum(each / P if stage >= cut else each for each, cut in zip(recipe, (3, 2, 1)))


def states(parameters: float, stage: int, P: int, recipe: Recipe = ADAM_MIXED) -> float:
    """Bytes of weights, gradients and optimizer state of one rank: 4 Psi + kappa Psi / P in stage 1, and so on."""
    return bytes_a_parameter(stage, P, recipe) * parameters


def largest_model(memory: float, stage: int, P: int, recipe: Recipe = ADAM_MIXED) -> float:
    """Parameters whose states just fit into so many bytes of each of P ranks, with nothing left for activations."""
    return memory / bytes_a_parameter(stage, P, recipe)


def ranks_needed(parameters: float, memory: float, stage: int, recipe: Recipe = ADAM_MIXED) -> int | None:
    """The least P at which the states fit into so many bytes; None if no number of ranks suffices."""
    whole = sum(each for each, cut in zip(recipe, (3, 2, 1)) if stage < cut) * parameters
    rest = sum(recipe) * parameters - whole
    if whole + rest <= memory:
        return 1
    if whole >= memory or not rest:
        return None
    P = max(1, int(rest / (memory - whole)))
    while states(parameters, stage, P, recipe) > memory:
        P += 1
    return P
