"""What moves when shards are cut anew: each element once, and to itself where it can stay."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.recovery.reshard import Haul, hauls, owners


def test_the_drawing():
    held = [(0, range(3)), (1, range(3, 6)), (1, range(6, 8)), (2, range(8, 10))]
    moves = [
        Haul(0, 0, 0, 3),
        Haul(1, 0, 3, 4),
        Haul(1, 1, 4, 6),
        Haul(1, 1, 6, 7),
        Haul(1, 2, 7, 8),
        Haul(2, 2, 8, 10),
    ]
    assert hauls(held, owners(10, 3)) == moves


@given(st.integers(0, 60), st.integers(1, 8), st.integers(1, 8))
def test_e1_36_each_element_has_one_owner_before_and_after(n, before, after):
    old, new = owners(n, before), owners(n, after)
    for parts in (old, new):
        assert [i for part in parts for i in part] == list(range(n))
        assert max(map(len, parts)) - min(map(len, parts)) <= 1
    got = {dest: [] for dest in range(after)}
    for move in hauls(list(enumerate(old)), new):
        assert move.start in old[move.source] and move.stop - 1 in old[move.source]
        got[move.dest] += range(move.start, move.stop)
    assert [sorted(got[dest]) for dest in range(after)] == [list(part) for part in new]


def test_a_shard_that_nobody_holds_is_told():
    with pytest.raises(ValueError, match="do not hold each of them once"):
        hauls([(0, range(3))], owners(10, 2))
