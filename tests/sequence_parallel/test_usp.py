"""USP: equal to the whole sequence on a grid of ranks; what travels in which group; refused alike everywhere."""

import pytest

from reference.sequence_parallel.layouts import contiguous, zigzag, zigzag_documents
from reference.sequence_parallel.ring_attention import ring_attention
from reference.sequence_parallel.usp import grid, usp_attention
from reference.sequence_parallel.volume import LayerShape, usp
from reference.worlds import launch, networks

from .serial import assert_equal, inputs, serial


def part(comm, x, layout, causal, inside):
    ulysses, ring = grid(comm, inside)
    mine = layout.split(inside)
    q, k, v, do = (mine.shard(tensor, comm.rank, 2) for tensor in x)
    q, k, v = (tensor.requires_grad_() for tensor in (q, k, v))
    o = usp_attention(ulysses, ring, q, k, v, layout, causal, block=4)
    o.backward(do)
    return [o.detach(), q.grad, k.grad, v.grad]


def parallel(x, layout, causal, inside, **where):
    results = launch(part, layout.ranks * inside, x, layout, causal, inside, **where).results
    return [layout.split(inside).join(parts, 2) for parts in zip(*results)]


@pytest.mark.parametrize(
    "layout, inside, causal, groups",
    [
        (zigzag(24, 2), 2, True, 2),
        (contiguous(24, 2), 2, False, 1),
        (zigzag(24, 3), 1, True, 4),  # the ring alone
        (zigzag(24, 1), 4, True, 2),  # Ulysses alone
        (zigzag(32, 2), 4, True, 2),
        (zigzag_documents([8, 16], 2), 2, True, 4),
    ],
)
def test_equal_to_the_whole_sequence(layout, inside, causal, groups):
    x = inputs(4, groups, s=layout.length)
    assert_equal(parallel(x, layout, causal, inside), serial(x, causal, layout.tokens))


@pytest.mark.mpi
def test_equal_on_real_ranks():
    x = inputs(s=24)
    assert_equal(parallel(x, zigzag(24, 2), True, 2, world="mpi"), serial(x))


def test_the_grid():
    def program(comm):
        ulysses, ring = grid(comm, 2)
        return ulysses.allgather(comm.rank), ring.allgather(comm.rank), ulysses.name, ring.name

    found = launch(program, 6).results
    assert found[3] == ([2, 3], [1, 3, 5], "ulysses", "ring")
    with pytest.raises(Exception, match="6 ranks cannot be cut into groups of 4"):
        launch(lambda comm: grid(comm, 4), 6)


@pytest.mark.parametrize("groups", [1, 4])
def test_few_hops_cross_the_border_of_a_node(groups):
    """Two nodes of 4 ranks with a card for each: the ring's 7 hops wait for the slow link, the grid's only one does."""
    network = networks.two_level(4, alpha_out=1e-4, beta_out=1e-8, nics=4)
    layer = LayerShape(b=2, s=32, h=4 * 3, a=4, g=groups, P=8, itemsize=8)
    flat, grouped = contiguous(32, 8), contiguous(32, 2)

    def program(comm, whole):
        x = inputs(4, groups, s=32)[:3]
        q, k, v = (flat.shard(tensor, comm.rank, 2) for tensor in x)
        if whole:
            return ring_attention(comm, q, k, v, flat, checked=False)
        return usp_attention(*grid(comm, 4), q, k, v, grouped, checked=False)

    ring, both = (launch(program, 8, whole, network=network) for whole in (True, False))
    slow = network.route(0, 4)
    n = layer.keys(4)  # 4 ranks of a group share at least 4 heads of keys
    assert both.bytes_by_group["ring"] == [2 * n] * 8
    assert both.bytes_by_group["ulysses"] == [usp(layer, 4).forward - 2 * n] * 8
    assert slow.alpha + 2 * n * slow.beta < both.seconds < 2 * (slow.alpha + 2 * n * slow.beta)
    assert ring.seconds == pytest.approx(7 * (slow.alpha + 2 * layer.keys() * slow.beta), rel=1e-9)


def test_every_rank_of_the_grid_hears_what_is_wrong():
    def program(comm, wrong):
        ulysses, ring = grid(comm, 2)
        layout = zigzag(24, 2)
        q, k, v, _ = (layout.split(2).shard(tensor, comm.rank, 2) for tensor in inputs(a=3 if wrong == "heads" else 4,
                                                                                       g=1))  # fmt: skip
        if wrong == "one rank" and comm.rank == 3:
            q = q[:, :, :2]
        if wrong == "width" and comm.rank == 2:
            q, k, v = q[..., :2], k[..., :2], v[..., :2]
        try:
            usp_attention(ulysses, ring, q, k, v, zigzag(24, 4) if wrong == "layout" else layout)
        except ValueError as error:
            return str(error)

    for wrong, words in {
        "heads": "2 ranks cannot share 3 heads alike",
        "one rank": "positions are given for 6 queries and 6 keys, got [2, 4, 2, 3]",
        "width": "'q [2, 4, 6, 2] torch.float64'",
        "layout": "a layout over 4 ranks, and 2 are in the ring",
    }.items():
        messages = launch(program, 4, wrong).results
        assert all(message and words in message for message in messages), messages
