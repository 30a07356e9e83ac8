"""What a collective is: the tracers that the picture of the definitions is drawn from."""

import numpy as np
import pytest

from reference.collectives.definitions import COLLECTIVES, caption, definitions, draw_definitions
from reference.worlds import launch


def expected(name, P, rank):
    """Captions of a rank's blocks after the collective, and the owners in each, from the definitions alone."""
    letters, everybody = [chr(ord("a") + block) for block in range(P)], set(range(P))
    sums = [("Σ" * (P > 1) + letter, everybody) for letter in letters]
    nothing = ("", set())
    return {
        "broadcast": [(letter, {0}) for letter in letters],
        "reduce": sums if rank == 0 else [nothing] * P,
        "scatter": [(letters[rank], {0}) if block == rank else nothing for block in range(P)],
        "gather": [(letter, {owner}) if rank == 0 else nothing for owner, letter in enumerate(letters)],
        "allgather": [(letter, {owner}) for owner, letter in enumerate(letters)],
        "reduce-scatter": [sums[block] if block == rank else nothing for block in range(P)],
        "all-reduce": sums,
        "all-to-all": [(letters[rank], {owner}) for owner in range(P)],
    }[name]


@pytest.mark.parametrize("name", COLLECTIVES)
def test_the_picture_shows_the_definition(name):
    for P in (1, 2, 3, 4, 5):
        for rank, mine in enumerate(launch(definitions, P).results):
            found = [(caption(block), set(np.flatnonzero(block.any(axis=1)))) for block in mine[name].after]
            assert found == expected(name, P, rank)
            assert mine[name].after.max() <= 1  # nothing is added twice


def test_the_picture_has_a_stripe_for_every_contribution():
    axes = draw_definitions(launch(definitions, 3).results)
    assert [ax.get_title() for ax in axes.flat] == list(COLLECTIVES)
    for ax, stripes in zip(axes.flat, (3 + 9, 9 + 9, 3 + 3, 3 + 3, 3 + 9, 9 + 9, 9 + 27, 9 + 9), strict=True):
        assert sum(patch.get_alpha() is not None for patch in ax.patches) == stripes
