"""Spare ranks: how many ranks work, and how many wait."""

import pytest

from reference.recovery.shrink import TooFew
from reference.recovery.spare import copies_that_fit, team_size


@pytest.mark.parametrize(
    ("alive", "N", "most", "size"), [(8, 2, 4, 8), (7, 2, 4, 6), (9, 2, 3, 6), (2047, 128, 16, 1920), (1, 1, 1, 1)]
)
def test_the_team_is_whole_copies(alive, N, most, size):
    assert team_size(alive, N, most) == size


def test_less_than_a_copy_is_too_few():
    with pytest.raises(TooFew, match="3 ranks are left, and a copy of the model needs 4"):
        team_size(3, 4, 2)


@pytest.mark.parametrize("bad", [(0, 1), (1, 0)])
def test_what_cannot_be_is_refused(bad):
    with pytest.raises(ValueError, match="at least 1 rank"):
        copies_that_fit(*bad)
