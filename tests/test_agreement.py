"""Agreement: whoever is wrong, and wherever, all ranks raise the same; if nothing is wrong, lines stay at home."""

import pytest

from reference.agreement import agree
from reference.worlds import launch

RANKS = 4


class Bad(Exception):
    """What a program of these tests raises."""


def told(lines, errors=None):
    """What each of RANKS ranks raises that gives lines[rank] and errors[rank]; None where it raises nothing."""

    def program(comm):
        try:
            agree(comm, "the words", lines[comm.rank], (errors or {}).get(comm.rank, ""), Bad)
        except Bad as error:
            return str(error)

    return launch(program, RANKS).results


def test_nothing_is_raised_if_all_is_well():
    assert told([["a", 1]] * RANKS) == [None] * RANKS


@pytest.mark.parametrize("rank", [0, 2])
def test_the_error_of_one_rank_is_that_of_all(rank):
    shown = "too small" + f" [rank {rank}]" * (rank > 0)
    assert told([["a"]] * RANKS, {rank: "too small"}) == [shown] * RANKS


def test_each_error_is_told_once_with_the_first_rank_that_has_it():
    (found,) = set(told([["a"]] * RANKS, {1: "too small", 2: "too large", 3: "too small"}))
    assert sorted(found.split("; ")) == ["too large [rank 2]", "too small [rank 1]"]


def test_an_error_counts_more_than_a_difference():
    assert told([["a"], ["b"], ["a"], ["a"]], {3: "too small"}) == ["too small [rank 3]"] * RANKS


@pytest.mark.parametrize(
    "lines, shown",
    [
        ([["a", "b"], ["a", "b"], ["a", "c"], ["a", "d"]], "[2, 3]: rank 2 has 'c' where rank 0 has 'b'"),
        ([["a"], ["a", "b"], ["a"], ["a"]], "[1]: rank 1 has 'b' where rank 0 has nothing more"),
        ([["a", "b"], ["a", "b"], ["a", "b"], []], "[3]: rank 3 has nothing more where rank 0 has 'a'"),
        ([["a", "b"], ["ab"], ["a", "b"], ["a", "b"]], "[1]: rank 1 has 'ab' where rank 0 has 'a'"),
    ],
)
def test_the_first_line_that_differs_is_shown(lines, shown):
    assert told(lines) == [f"the words must be alike on all ranks, but differ on rank(s) {shown}"] * RANKS


def test_lines_stay_at_home_if_they_are_alike():
    few, many = (launch(lambda comm, n: agree(comm, "the words", ["word"] * n), RANKS, n) for n in (1, 10_000))
    assert few.bytes_sent == many.bytes_sent and few.messages == many.messages


@pytest.mark.mpi
def test_processes_agree_on_equal_words():
    assert launch(lambda comm: agree(comm, "the words", ["a", 1.5]), 2, world="mpi").results == [None, None]
