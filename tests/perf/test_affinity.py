"""Who is bound where: machines made of files, so that any shape can be tried; then two real ranks on this one."""

import os
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.perf import affinity
from reference.perf.affinity import numa_distance, numa_nodes, parse_cpus, processor_share, spell_cpus
from reference.worlds import RankFailed, launch

LINUX = pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="only Linux binds")


def machine(folder, cpulists, distances=None, siblings=()):
    """Write what Linux tells of a machine with these nodes and return the folder of its nodes."""
    for node, text in enumerate(cpulists):
        (folder / "node" / f"node{node}").mkdir(parents=True)
        (folder / "node" / f"node{node}" / "cpulist").write_text(text + "\n")
        if distances:
            (folder / "node" / f"node{node}" / "distance").write_text(" ".join(map(str, distances[node])) + "\n")
    for text in siblings:
        for cpu in parse_cpus(text):
            (folder / "cpu" / f"cpu{cpu}" / "topology").mkdir(parents=True)
            (folder / "cpu" / f"cpu{cpu}" / "topology" / "thread_siblings_list").write_text(text + "\n")
    (folder / "node" / "online").write_text(f"0-{len(cpulists) - 1}\n")  # not a node
    return folder / "node"


def deal(nodes, ranks):
    return [spell_cpus(processor_share(nodes, rank, ranks)) for rank in range(ranks)]


@pytest.mark.parametrize(
    "text, cpus",
    [("0-3,8", [0, 1, 2, 3, 8]), ("5", [5]), ("0-0\n", [0]), ("\n", []), ("0-1,4-5,7", [0, 1, 4, 5, 7])],
)
def test_parse_cpus(text, cpus):
    assert parse_cpus(text) == cpus


@pytest.mark.parametrize("text", ["a", "3-1", "1-", "-1", "1-2-3", "0x2", "1;2"])
def test_parse_cpus_refuses_the_rest(text):
    with pytest.raises(ValueError, match="neither a number nor a range such as 0-3"):
        parse_cpus(text)


@given(st.sets(st.integers(0, 300), min_size=1))
def test_spelling_is_the_inverse_of_parsing(cpus):
    assert parse_cpus(spell_cpus(cpus)) == sorted(cpus)


def test_spelling():
    assert spell_cpus([8, 0, 1, 2, 3]) == "0-3,8"
    assert spell_cpus([]) == "none"


def test_one_node(tmp_path):
    root = machine(tmp_path, ["0-3"], [[10]])
    assert numa_nodes(root) == {0: [0, 1, 2, 3]}
    assert numa_distance(root).tolist() == [[10]]
    assert deal(numa_nodes(root), 2) == ["0-1", "2-3"]


def test_two_nodes_with_two_threads_a_core(tmp_path):
    """Two sockets of four cores; Linux numbers the second threads of all cores after the first ones."""
    pairs = [f"{core},{core + 8}" for core in range(8)]
    root = machine(tmp_path, ["0-3,8-11", "4-7,12-15"], [[10, 21], [21, 10]], pairs)
    nodes = numa_nodes(root)
    assert nodes == {0: [0, 8, 1, 9, 2, 10, 3, 11], 1: [4, 12, 5, 13, 6, 14, 7, 15]}
    assert numa_distance(root).tolist() == [[10, 21], [21, 10]]
    assert deal(nodes, 1) == ["0-15"]
    assert deal(nodes, 2) == ["0-3,8-11", "4-7,12-15"]
    assert deal(nodes, 4) == ["0-1,8-9", "2-3,10-11", "4-5,12-13", "6-7,14-15"]  # whole cores
    assert deal(nodes, 3) == ["0-1,8-9", "2-3,10-11", "4-7,12-15"]


def test_four_nodes_and_more_than_nine(tmp_path):
    nodes = numa_nodes(machine(tmp_path, [f"{4 * node}-{4 * node + 3}" for node in range(12)]))
    assert list(nodes) == list(range(12))  # as numbers, not as words
    four = {node: nodes[node] for node in range(4)}
    assert deal(four, 2) == ["0-7", "8-15"]  # whole nodes
    assert deal(four, 3) == ["0-3", "4-7", "8-15"]
    assert deal(four, 4) == ["0-3", "4-7", "8-11", "12-15"]
    assert deal(four, 8)[:4] == ["0-1", "2-3", "4-5", "6-7"]


def test_uneven_nodes_take_ranks_in_proportion():
    nodes = {0: range(12), 1: range(12, 16)}
    assert deal(nodes, 2) == ["0-11", "12-15"]  # one node each, however uneven
    assert deal(nodes, 4) == ["0-3", "4-7", "8-11", "12-15"]


def test_nodes_without_processors_are_passed_over(tmp_path):
    root = machine(tmp_path, ["0-1", "", "2-3"])
    assert numa_nodes(root)[1] == []
    assert deal(numa_nodes(root), 2) == ["0-1", "2-3"]


def test_more_ranks_than_processors_share_them():
    assert deal({0: [0], 1: [1]}, 5) == ["0", "0", "0", "1", "1"]
    assert deal({0: [3]}, 3) == ["3"] * 3


def test_a_machine_that_does_not_tell_is_one_node(tmp_path):
    nodes = numa_nodes(tmp_path / "nothing here")
    assert list(nodes) == [0] and set(affinity.allowed_cpus()) <= set(nodes[0])
    assert numa_distance(tmp_path / "nothing here").tolist() == [[10]]


def test_without_sched_getaffinity_all_processors_are_allowed(monkeypatch):
    monkeypatch.delattr(os, "sched_getaffinity", raising=False)
    assert affinity.allowed_cpus() == list(range(os.cpu_count()))


@given(st.lists(st.integers(0, 9), min_size=1, max_size=6).filter(any), st.integers(1, 40))
def test_every_processor_is_used_fairly_and_no_rank_is_spread_without_need(sizes, ranks):
    starts = np.cumsum([0, *sizes])
    nodes = {node: list(range(starts[node], starts[node + 1])) for node in range(len(sizes))}
    shares = [processor_share(nodes, rank, ranks) for rank in range(ranks)]
    assert all(shares) and set().union(*shares) == set(range(starts[-1]))
    real = [set(cpus) for cpus in nodes.values() if cpus]
    if ranks >= len(real):
        assert all(any(set(own) <= node for node in real) for own in shares)  # on one node
    else:
        assert all(set(own) >= node or not set(own) & node for own in shares for node in real)  # whole nodes
    hosts = [sum(set(own) <= node for own in shares) for node in real]
    if all(here <= len(node) for here, node in zip(hosts, real)):
        assert sum(map(len, shares)) == starts[-1]  # each processor once
    assert [min(own) for own in shares] == sorted(min(own) for own in shares)  # neighbours stay neighbours


@pytest.mark.parametrize(
    "nodes, rank, ranks, says",
    [
        ({0: [0]}, 2, 2, "from 0 to 1, got 2 of 2"),
        ({0: [0]}, -1, 2, "got -1"),
        ({0: [], 1: []}, 0, 1, "no processor to share"),
    ],
)
def test_impossible_shares_are_refused(nodes, rank, ranks, says):
    with pytest.raises(ValueError, match=says):
        processor_share(nodes, rank, ranks)


def test_the_virtual_cluster_is_refused_and_nothing_is_bound():
    before = affinity.allowed_cpus()
    with pytest.raises(RankFailed, match=r"threads of one process.*world='mpi'"):
        launch(affinity.bind, 2)
    assert affinity.allowed_cpus() == before


def bound(comm, root=affinity.NODES, start=None):
    """(before, bound, bound again) on this rank; the ranks of the job live on, so all is put back."""
    before = os.sched_getaffinity(0)
    try:
        if start:
            os.sched_setaffinity(0, start)
        return sorted(before), affinity.bind(comm, root), affinity.bind(comm, root)
    finally:
        os.sched_setaffinity(0, before)


def usable_here(before):
    return {node: [cpu for cpu in cpus if cpu in before] for node, cpus in numa_nodes().items()}


@LINUX
@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [1, 2, 3])
def test_real_ranks_are_bound_to_their_shares_and_twice_is_once(ranks):
    results = launch(bound, ranks, world="mpi").results
    for rank, (before, once, twice) in enumerate(results):
        assert once == twice == sorted(processor_share(usable_here(before), rank, ranks))
    if len(results[0][0]) >= ranks:
        assert sum(len(once) for _, once, _ in results) == len(set().union(*(once for _, once, _ in results)))
    after = launch(lambda comm: sorted(os.sched_getaffinity(0)), ranks, world="mpi").results
    assert after == [before for before, _, _ in results]  # and the job is as it was


@LINUX
@pytest.mark.mpi
def test_real_ranks_on_a_machine_made_of_files_keep_to_what_they_may_use(tmp_path):
    """Node 0 has one processor that exists and some that do not, node 1 none that does."""
    cpu = min(affinity.allowed_cpus())
    root = machine(tmp_path, [f"{cpu},5000-5003", "5004-5007"])
    for _, once, twice in launch(bound, 2, str(root), world="mpi").results:
        assert once == twice == [cpu]


@LINUX
@pytest.mark.mpi
@pytest.mark.skipif(len(affinity.allowed_cpus()) < 2, reason="needs two processors")
def test_ranks_that_the_launcher_has_bound_already_are_dealt_all_of_their_processors():
    cpus = affinity.allowed_cpus()[:2]
    starts = [cpus[1:], cpus[:1]]  # the wrong way round
    results = launch(lambda comm: bound(comm, start=starts[comm.rank]), 2, world="mpi").results
    for rank, (_, once, twice) in enumerate(results):
        assert once == twice == processor_share(usable_here(cpus), rank, 2)


def test_the_program_tells_of_this_machine(capsys):
    affinity.main(["3"])
    lines = capsys.readouterr().out.splitlines()
    nodes = numa_nodes()
    assert len(lines) == len(nodes) + 3
    assert lines[0].startswith(f"node {min(nodes)}: processors {spell_cpus(nodes[min(nodes)])}; allowed ")
    assert lines[-1].startswith("rank 2 of 3: ")


def test_a_system_that_cannot_bind_says_so(monkeypatch):
    """As on macOS; the communicator is not looked at before that."""
    monkeypatch.delattr(os, "sched_setaffinity", raising=False)
    monkeypatch.setattr(affinity.mpi, "Comm", object)
    with pytest.raises(NotImplementedError, match=f"{sys.platform} does not have"):
        affinity.bind(None)
