"""Ranks killed at any instant: a checkpoint is whole, or is not there; and the training ends as if none had died."""

import json
from collections import Counter

import pytest

from . import crashes
from .forked import call


def told(*arguments, seconds=100.0):
    return json.loads(call(crashes.tell, *arguments, seconds=seconds).splitlines()[-1])


def test_twenty_kills():
    found = told(20, 1)
    assert not found["wrong"], found["wrong"]
    assert found["kills"] == 20 and len(found["where"]) >= 5, found["where"]


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2, 12))
def test_two_hundred_kills(seed):
    found = told(20, seed)
    assert not found["wrong"], found["wrong"]
    assert found["kills"] == 20


@pytest.mark.long
def test_ranks_die_in_every_operation_on_files():
    where = Counter()
    for seed in range(100, 105):
        where.update(told(20, seed)["where"])
    assert set(where) == {*crashes.OPERATIONS, "at a time"}, where


@pytest.mark.parametrize(
    "plant, at, says",
    [
        ("manifest in place", "write manifest", "does not load"),
        ("manifest first", "rename manifest", "does not load"),
        ("no random state", "", "other states follow"),
        ("no moments", "", "where it was"),
    ],
)
def test_a_mistake_is_found_out(plant, at, says):
    found = told(20, 1, plant, at)
    assert found["wrong"] and says in found["wrong"][0]
