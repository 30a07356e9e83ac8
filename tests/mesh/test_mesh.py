"""Meshes: the arithmetic of axes, held against torch's DeviceMesh, and the communicators along them."""

import json
import re
from itertools import chain, product

import pytest

from reference.mesh import STANDARD, Axes, Mesh
from reference.worlds import launch

from .. import forked

AXES = [
    {"dp": 2, "pp": 2, "tp": 2},
    {"dp": 2, "pp": 3, "cp": 1, "tp": 2},
    {"tp": 3, "dp": 2},
    {"pp": 2, "dp": 2, "cp": 2, "tp": 2},
]


def print_answers_of_torch(meshes, pairs):
    """For each mesh and rank, torch's own answers: coordinates, groups along each axis, and a flattened group."""
    import torch.distributed as dist
    from torch.distributed.device_mesh import init_device_mesh
    from torch.testing._internal.distributed.fake_pg import FakeStore

    found = []
    for sizes, pair in zip(meshes, pairs):
        for rank in range(Axes(sizes).size):
            dist.init_process_group("fake", store=FakeStore(), rank=rank, world_size=Axes(sizes).size)
            mesh = init_device_mesh("cpu", tuple(sizes.values()), mesh_dim_names=tuple(sizes))
            groups = {name: mesh[name].mesh.tolist() for name in sizes}
            flat = mesh[pair]._flatten().mesh.tolist()
            found.append((sizes, pair, rank, list(mesh.get_coordinate()), groups, flat))
            dist.destroy_process_group()
    print(json.dumps(found))


def test_coordinates_and_groups_are_those_of_torchs_device_mesh():
    pairs = [tuple(sizes)[:2] for sizes in AXES[:-1]] + [("dp", "cp")]
    answers = json.loads(forked.call(print_answers_of_torch, AXES, pairs))
    assert len(answers) == 8 + 12 + 6 + 16
    for sizes, pair, rank, coordinates, groups, flat in answers:
        axes = Axes(sizes)
        assert list(axes.coordinates(rank).values()) == coordinates
        assert {name: axes.ranks(rank, name) for name in sizes} == groups
        assert axes.ranks(rank, *pair) == flat


@pytest.mark.parametrize("sizes", AXES)
def test_a_group_differs_on_its_axes_only_and_all_of_them_share_out_the_ranks(sizes):
    axes = Axes(sizes)
    assert [axes.rank(**axes.coordinates(rank)) for rank in range(axes.size)] == list(range(axes.size))
    for chosen in [(name,) for name in sizes] + list(product(sizes, repeat=2)):
        groups = axes.groups(*chosen)
        assert sorted(chain(*groups)) == list(range(axes.size))
        for group in groups:
            assert all(axes.ranks(rank, *chosen) == group for rank in group)
            same = {tuple(v for k, v in axes.coordinates(rank).items() if k not in chosen) for rank in group}
            assert len(same) == 1


def test_a_group_of_sixteen_thousand_ranks_is_a_rule():
    axes = Axes.in_order("dp-pp-cp-tp", dp=128, pp=16, tp=8)
    assert axes.size == 16384 and list(axes.sizes) == list(STANDARD)
    assert axes.along(16383, "dp") == (127, 128, 128)
    assert axes.along(9, "pp") == (1, 8, 16) and axes.along(9, "cp") == (9, 8, 1)


def test_the_innermost_axis_stays_within_a_node_and_the_outermost_crosses():
    inner = Axes({"dp": 4, "pp": 2, "tp": 8})
    assert [inner.nodes(axis, 8) for axis in ("dp", "pp", "tp")] == [4, 2, 1]
    outer = Axes({"tp": 8, "pp": 2, "dp": 4})
    assert [outer.nodes(axis, 8) for axis in ("dp", "pp", "tp")] == [1, 1, 8]
    assert Axes({"dp": 2, "tp": 6}).nodes("tp", 4) == 2  # a node ends inside a group


def test_every_rank_has_a_communicator_for_each_axis_and_in_rank_order(world):
    axes = Axes({"dp": 2, "pp": 2, "tp": 2})

    def program(comm):
        mesh = Mesh(comm, axes)
        groups = [mesh["dp"], mesh["pp"], mesh["tp"], mesh["tp", "dp"]]
        assert mesh["dp", "tp"] is groups[-1] and mesh.size("dp", "tp") == 4
        return [(group.Get_name(), group.allgather(comm.rank)) for group in groups], mesh.coordinate("pp")

    for rank, (groups, stage) in enumerate(launch(program, 8, world=world).results):
        assert [name for name, _ in groups] == ["dp", "pp", "tp", "dp-tp"]
        assert [group for _, group in groups] == [axes.ranks(rank, *n.split("-")) for n in ("dp", "pp", "tp", "dp-tp")]
        assert stage == axes.coordinates(rank)["pp"]


@pytest.mark.parametrize("stages, ends", [(4, [0, 6]), (2, [0, 2]), (1, [0])])
def test_first_and_last_stage_are_a_group_for_the_embedding(stages, ends):
    def program(comm):
        mesh = Mesh(comm, Axes({"pp": stages, "tp": 2}))
        return mesh.embedding and (mesh.embedding.Get_name(), mesh.embedding.allgather(comm.rank))

    found = launch(program, 2 * stages).results
    for rank, group in enumerate(found):
        wanted = [end + rank % 2 for end in ends]
        assert group == (("embedding", wanted) if rank in wanted else None)


@pytest.mark.parametrize(
    "call, says",
    [
        (lambda: Axes({}), "at least one axis"),
        (lambda: Axes({"dp": 2, "tp": 0}), "at least 1 rank, got tp=0"),
        (lambda: Axes({"dp": 3, "tp": 2}).check(8), "dp 3 x tp 2 are 6 ranks, and 8 are running: start 6 with mpirun"),
        (lambda: Axes({"dp": 2}).coordinates(2), "has the ranks 0 ... 1, got 2"),
        (lambda: Axes({"dp": 2}).rank(dp=2), "dp of the mesh dp 2 is from 0 to 1, got 2"),
        (lambda: Axes({"dp": 2}).ranks(0, "tp"), "has no axis 'tp'; it has dp"),
        (lambda: Axes.in_order("dp-tp", pp=2), "has to name each axis once: dp, tp, pp"),
        (lambda: Axes.in_order("dp-dp", dp=2), "has to name each axis once: dp"),
    ],
)
def test_what_is_no_mesh_is_refused_with_its_numbers(call, says):
    with pytest.raises(ValueError, match=re.escape(says)):
        call()


def test_degrees_that_do_not_multiply_to_the_ranks_are_refused_on_every_rank():
    def program(comm):
        with pytest.raises(ValueError, match="4 ranks, and 6 are running"):
            Mesh(comm, Axes({"dp": 2, "tp": 2}))
        return True

    assert launch(program, 6).results == [True] * 6
