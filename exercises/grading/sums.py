"""Check a sum over ranks, and tell from a wrong one what went into it.

The inputs are random, so a result that is a mixture of the ranks' blocks shows its recipe: solve got = sum of w[k, i]
times block i of x[k], x[k] being what rank k holds. If w is 1 for all k at one i, the sum is complete; a 0 in between
is a missing part, a 2 a part that was added twice, 1/P everywhere a mean; several i are blocks mixed up. The mixture
is unique when a block has more elements than there are weights, which inputs.py sees to.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from .exercise import Answer, Case, Check, Finding
from .numbers import DIGITS
from .values import unlike

EPSILON = np.finfo(np.float64).eps
FLOAT32_ERROR = 2**30  # in units of what float64 allows: float32 has 29 bits less
EXACT = 1e-9  # relative error below which a recipe is taken as found

Blocks = Callable[[np.ndarray, Case], list[np.ndarray]]
Members = Callable[[Case, int], Sequence[int]]

ADVICE = {  # what a mixture shows, tried in this order: its hint, with the names that _facts gives
    "mixed": "Different blocks got mixed. In one step: which block does the left neighbour of rank {rank} send, and to "
    "which one does your code add what arrives? They must have the same number.",
    "everybody": "That is the sum over all ranks; for rank {rank} it should be over {members} only.",
    "strangers": "The sum of rank {rank} is over ranks {members} only: what of the others is in it?",
    "misplaced": "The sum is right and the place is wrong: here rank {rank} should have block {home}. Where a block "
    "ends follows from where it starts. Follow one block on paper, for three ranks: which rank must have it last, so "
    "which one sends it first?",
    "mean": "Asked for is the sum over ranks, not the mean: every part has weight 1.",
    "own": "This is its own part alone: nothing was ever added. To which block do you add in the last step?",
    "single": "This is the part of one rank alone: nothing was added on the way. What arrives is a sum so far; it must "
    "meet your own part, not replace it.",
    "missing": "The part of rank {missing} is missing. Every block must collect a part on every rank: is what you send "
    "on the sum so far, or only a part of it?",
    "weights": "Each rank's part belongs into the sum once, with weight 1. Is something added twice, or subtracted?",
}


class Place(NamedTuple):
    """Where a wrong sum stands: on which rank, which block; the ranks to sum over, and the case.

    whole: the result is all blocks; words: " in block 3", or "" if there is only one.
    """

    rank: int
    home: int
    group: list[int]
    case: Case
    whole: bool
    words: str


def in_one_piece(x: np.ndarray, case: Case) -> list[np.ndarray]:
    """x as a single block."""
    return [x]


def everybody(case: Case, rank: int) -> Sequence[int]:
    """All ranks."""
    return range(case.ranks)


def sum_over_ranks(
    blocks: Blocks,
    whole: bool = False,
    members: Members = everybody,
    advice: Mapping[str, str | Callable[[Place, np.ndarray], str]] | None = None,
) -> Check:
    """Rank r returns block r, summed over all ranks; or all the blocks, one after the other (`whole`).

    blocks(x, case) cuts one rank's x. members(case, rank): the ranks to sum over, if not all. advice: hints that fit
    this exercise better than those of ADVICE, as texts or as functions of a Place and the weights. "Equal" allows for
    rounding in any order of adding: an error of at most P epsilon times the sum of magnitudes.
    """
    hints = {**ADVICE, **(advice or {})}

    def check(case: Case, answer: Answer) -> Finding | None:
        pieces = [blocks(arguments[0], case) for arguments in case.arguments]
        for rank, result in enumerate(answer.results):
            group = list(members(case, rank))
            like = case.arguments[rank][0] if whole else pieces[rank][rank]
            if finding := unlike(rank, result, like.shape, like.dtype):
                return finding
            for block, got in enumerate(blocks(result, case)) if whole else [(rank, result)]:
                terms = np.stack([pieces[k][block] for k in group])
                error, bound = np.abs(got - terms.sum(axis=0)), case.ranks * EPSILON * np.abs(terms).sum(axis=0)
                if not (error <= bound).all():
                    place = Place(
                        rank, block, group, case, whole, f" in block {block}" * (whole and len(pieces[0]) > 1)
                    )
                    return _wrong(place, got, pieces, error, bound, hints)
        return None

    return check


def recipe(got: np.ndarray, pieces: list[list[np.ndarray]]) -> np.ndarray | None:
    """Weights w with got = sum of w[k, i] pieces[k][i]; None if there are none, or too few elements to tell."""
    fitting = [(k, i) for k, mine in enumerate(pieces) for i, piece in enumerate(mine) if piece.shape == got.shape]
    if got.size <= len(fitting) or not np.isfinite(got).all():
        return None
    columns = np.stack([pieces[k][i] for k, i in fitting], axis=1)
    solution = np.linalg.lstsq(columns, got, rcond=None)[0]
    if np.abs(columns @ solution - got).max() > EXACT * np.abs(columns).sum(axis=1).max():
        return None
    weights = np.zeros((len(pieces), len(pieces[0])))
    weights[tuple(zip(*fitting))] = np.round(solution, 6)
    return weights if weights.any() else None  # memory that was never written may hold numbers close to 0


def formula(weights: np.ndarray) -> str:
    """Weights in words: "x[0] + 2 x[1], in block 3", or "block 3 of x[0] + block 1 of x[2]"."""
    used = [(k, i, weights[k, i]) for k, i in np.argwhere(weights)]
    one_block = len({i for _, i, _ in used}) == 1
    terms = [("" if w == 1 else f"{w:.3g} ") + ("" if one_block else f"block {i} of ") + f"x[{k}]" for k, i, w in used]
    return " + ".join(terms).replace("+ -1 ", "- ").replace("+ -", "- ") + (f", in block {used[0][1]}" * one_block)


def _wrong(place: Place, got: np.ndarray, pieces: list, error: np.ndarray, bound: np.ndarray, hints) -> Finding:
    """Say what is wrong with the sum that a rank returned."""
    rank, of = place.rank, place.words
    if not got.any():
        seen = f"rank {rank} returned nothing but zeros{of}."
        return Finding(seen, "What arrived never reached the array you return.")
    if (error <= bound * FLOAT32_ERROR).all():
        return Finding(
            f"rank {rank}'s sum{of} is right in its first digits only (largest error {error.max():.1e}).",
            DIGITS,
        )
    weights = recipe(got, pieces)
    if weights is not None:
        parts = formula(weights).removesuffix(f", in block {place.home}" * place.whole)
        seen = f"rank {rank} returned{of and of + ':'} {parts} (x[k] is what rank k holds)."
        hint = hints[_kind(place, weights)]
        return Finding(seen, hint(place, weights) if callable(hint) else hint.format(**_facts(place, weights)))
    wrong = np.flatnonzero(~(error <= bound))
    first = f"the first at {wrong[0]}: {got[wrong[0]]:.6g}"
    seen = f"rank {rank}{of}: {wrong.size} of {got.size} elements are wrong, {first}."
    if wrong.size < got.size:
        return Finding(seen, "Some elements are right, so look at where each block begins and ends.")
    return Finding(
        seen,
        "This is no mixture of what the ranks hold. Is the memory you return ever written? (The inputs are new in "
        "every run, so numbers from an earlier run never fit.)",
    )


def _kind(place: Place, weights: np.ndarray) -> str:
    """Which entry of ADVICE fits a mixture of the ranks' blocks that is not block `home` of the sum."""
    blocks = np.flatnonzero(weights.any(axis=0))
    if len(blocks) > 1:
        return "mixed"
    parts = weights[:, blocks[0]]
    mine = parts[place.group]
    if np.count_nonzero(parts) > np.count_nonzero(mine):
        return "everybody" if (parts == 1).all() else "strangers"
    kinds = {
        "misplaced": (mine == 1).all(),
        "mean": (mine == mine[0]).all() and 0 < mine[0] < 1,
        "own": np.count_nonzero(parts) == 1 and parts[place.rank] == 1,
        "single": np.count_nonzero(parts) == 1 and not parts[place.rank],
        "missing": set(mine) <= {0, 1},
    }
    return next((kind for kind, holds in kinds.items() if holds), "weights")


def _facts(place: Place, weights: np.ndarray) -> dict[str, object]:
    """What hints may name."""
    parts = weights.sum(axis=1)
    missing = [rank for rank in place.group if parts[rank] == 0]
    ranks = {"missing": missing, "members": place.group}
    return {"rank": place.rank, "home": place.home, **{what: ", ".join(map(str, who)) for what, who in ranks.items()}}
