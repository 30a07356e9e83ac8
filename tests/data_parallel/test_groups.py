"""Groups of ranks that share a model, and the ranks with the same part in all groups."""

import re

import pytest

from reference.data_parallel.groups import check_groups, groups
from reference.worlds import launch


@pytest.mark.parametrize("ranks, N", [(6, 2), (6, 3), (4, 1), (4, 4)])
def test_neighbours_make_a_group_and_the_same_places_another(ranks, N):
    def program(comm):
        group, copies = groups(comm, N, "tp")
        return group.Get_name(), group.allgather(comm.rank), copies.Get_name(), copies.allgather(comm.rank)

    for rank, (name, group, dp, copies) in enumerate(launch(program, ranks).results):
        assert (name, dp) == ("tp", "dp")
        assert group == [rank // N * N + k for k in range(N)] and copies == list(range(rank % N, ranks, N))


@pytest.mark.parametrize(
    "ranks, N, says",
    [
        (3, 2, "a pipeline of 2 ranks, and 3 are running: start 2 or 4, so that each is in a pipeline"),
        (2, 3, "a pipeline of 3 ranks, and 2 are running: start 3, so that each is in a pipeline"),
    ],
)
def test_ranks_that_belong_to_no_group_are_told(ranks, N, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        check_groups(ranks, N, "pipeline")
    check_groups(N * ranks, N)
