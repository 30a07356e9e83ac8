"""The script that chapter 1 shows: four ways of summing over the ranks, each right."""

import pytest

from .scripts import FOLDER, ONE_PROCESS, printed

pytestmark = ONE_PROCESS

WAYS = ("in_one_call", "in_two_halves", "behind_a_computation", "by_levels")


def test_each_way_sums_over_all_ranks():
    assert printed("allreduce.py", 4, "2") == [f"{way}: right on 4 ranks" for way in WAYS]


def test_a_rank_that_fails_fails_the_script():
    with pytest.raises(RuntimeError, match=r"(?s)allreduce\.py.* failed"):
        printed("allreduce.py", 2, "3")  # two ranks do not fill a node of three


def test_the_script_is_short_enough_to_be_read():
    assert 30 <= len((FOLDER / "allreduce.py").read_text().splitlines()) <= 60
