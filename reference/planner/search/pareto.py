"""Several aims at once: time against memory against price, the exact front and NSGA-II's.

Idea      More accelerators are faster and dearer; more memory saves sending. A layout is on the *front* if no other is
          at least as good in seconds, bytes and price, and better in one. `exact_front` prices all layouts of some
          spaces (say, 16 to 128 accelerators) and keeps those. `nsga2` breeds a population towards the front.
          A genome is eight numbers from 0 to 1. They pick the space, then t, p, c, b, v, recomputation and ZeRO, each
          among what is possible after the picks before it. So every genome is a layout, and none is thrown away.
Price     Accelerator-seconds a token, which is what a cluster is paid for. NSGA-II asks for population x generations
          prices; it may miss parts of the front, and nothing tells.
Left out  Any proof for NSGA-II; pymoo comes with `pip install pymoo`, and is not needed for anything else here.
Source    Deb et al., "A Fast and Elitist Multiobjective Genetic Algorithm: NSGA-II" (2002); pymoo 0.6.2.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from ..predict import priced
from ..spec import LayoutSpec
from .space import LayoutSpace

GENES = 8
NEEDS = "nsga2 needs pymoo: pip install 'pymoo>=0.6.1' (exact_front needs nothing)"


class Offer(NamedTuple):
    """A layout with its aims: seconds of a step, bytes of a rank, accelerator-seconds a token."""

    seconds: float
    nbytes: float
    price: float
    spec: LayoutSpec

    @property
    def aims(self) -> tuple[float, float, float]:
        """What is to be small."""
        return self[:3]


def offer(space: LayoutSpace, spec: LayoutSpec) -> Offer:
    """The aims of one layout."""
    one = priced(space.model, space.machine, spec, space.global_batch, space.length)
    return Offer(one.seconds.total, one.held.total, space.ranks / one.tokens_per_second, spec)


def front(offers: Iterable[Offer]) -> list[Offer]:
    """Those that no other dominates, by seconds; of offers with equal aims, the first."""
    kept: list[Offer] = []
    for one in sorted(offers, key=lambda each: each.aims):
        if not any(other.nbytes <= one.nbytes and other.price <= one.price for other in kept):
            kept.append(one)  # sorted by seconds: what is kept is at least as fast
    return kept


def exact_front(spaces: Sequence[LayoutSpace]) -> list[Offer]:
    """The front of all layouts of these spaces that fit."""
    every = (offer(space, spec) for space in spaces for spec in space.specs())
    limits = {space.ranks: space.limit for space in spaces}
    return front(one for one in every if one.nbytes <= limits[one.spec.ranks])


class Genomes:
    """Spaces as trees of choices: t, then p, then c, then b."""

    def __init__(self, spaces: Sequence[LayoutSpace]):
        self.spaces = list(spaces)
        self.trees: list[dict] = []
        for space in spaces:
            tree: dict[int, Any] = {}
            for shape in space.shapes():
                branch = tree.setdefault(shape.tensor, {}).setdefault(shape.stages, {}).setdefault(shape.context, [])
                branch.append(shape)
            self.trees.append(tree)

    def decode(self, genes: Sequence[float]) -> tuple[LayoutSpace, LayoutSpec]:
        """The space and the layout of eight numbers from 0 to 1."""
        at = min(int(genes[0] * len(self.spaces)), len(self.spaces) - 1)
        space = self.spaces[at]
        branch: Any = self.trees[at]
        for gene in genes[1:4]:
            branch = branch[_pick(sorted(branch), gene)]
        shape = _pick(branch, genes[4])
        v = _pick(space.chunks(shape), genes[5])
        recompute, zero = _pick(space.recomputes, genes[6]), _pick(space.stages_of_zero(shape), genes[7])
        return space, shape._replace(chunks=v, recompute=recompute, zero=zero)


def _pick(choices: Sequence, gene: float) -> Any:
    return choices[min(int(gene * len(choices)), len(choices) - 1)]


def nsga2(spaces: Sequence[LayoutSpace], population: int = 60, generations: int = 30, seed: int = 0) -> list[Offer]:
    """The front that NSGA-II finds: the best of its last population that fit.

    Raises ImportError, with what to do, where pymoo is not installed.
    """
    try:
        from pymoo.algorithms.moo.nsga2 import NSGA2
        from pymoo.core.problem import ElementwiseProblem
        from pymoo.optimize import minimize
    except ImportError as error:
        raise ImportError(NEEDS) from error
    genomes = Genomes(spaces)

    class Layouts(ElementwiseProblem):
        """Eight genes, three aims, and one constraint: what is held over what there is, less 1."""

        def __init__(self) -> None:
            super().__init__(n_var=GENES, n_obj=3, n_ieq_constr=1, xl=0.0, xu=1.0)

        def _evaluate(self, x, out, *args, **kwargs) -> None:
            space, spec = genomes.decode(x)
            one = offer(space, spec)
            out["F"], out["G"] = one.aims, one.nbytes / space.limit - 1

    found = minimize(Layouts(), NSGA2(pop_size=population), ("n_gen", generations), seed=seed)
    return front(offer(*genomes.decode(genes)) for genes in ([] if found.X is None else found.X))
