"""What the graders of chapter 7 take for right is what its package does and counts."""

import numpy as np
import pytest

from exercises.graders.ch07_sequence_and_context import common, predict, repair, write
from exercises.graders.ch07_sequence_and_context.fill_in import together
from exercises.grading.grade import draw
from reference.networks.network import Link

from .later import Later
from .test_graders import SEED

pytestmark = pytest.mark.chapter(number=7)
BYTES_ALONE = Link(0.0, 1e-9)
torch, package = Later("torch"), Later("reference.sequence_parallel")
layouts, masks = Later("reference.sequence_parallel.layouts"), Later("reference.sequence_parallel.masks")
ulysses, volume = Later("reference.sequence_parallel.ulysses"), Later("reference.sequence_parallel.volume")


@pytest.mark.parametrize("case", draw(predict.bytes_of_attention, "bytes_of_attention", SEED), ids=lambda c: c.label)
def test_bytes_are_those_of_the_package(case):
    method, b, s, a, g, d, P, itemsize = case.arguments[0]
    layer = volume.LayerShape(b, s, a * d, a, g, P, itemsize)
    assert predict.attention_bytes(*case.arguments[0]) == pytest.approx(volume.METHODS[method](layer).forward)


@pytest.mark.parametrize("case", draw(predict.activation_bytes, "activation_bytes", SEED), ids=lambda c: c.label)
def test_activations_are_those_of_the_package(case):
    b, s, h, a, P, blockwise = case.arguments[0]
    assert predict.kept(*case.arguments[0]) == volume.activation_bytes(
        volume.LayerShape(b, s, h, a, a, P), "ring", blockwise
    )


@pytest.mark.parametrize("a, g, P", [(32, 32, 8), (64, 8, 16)])  # situations A and F
def test_ulysses_sends_the_fewest_bytes_where_it_is_the_answer(a, g, P):
    assert volume.cheapest(volume.LayerShape(1, 1024 * P, 64 * a, a, g, P), BYTES_ALONE) == "ulysses"


@pytest.mark.parametrize("a, P", [(25, 8), (32, 64), (12, 16)])  # situations B, D and E
def test_ulysses_is_impossible_where_heads_are_the_reason(a, P):
    assert ulysses.heads_trouble(P, a, a)
    inside = [U for U in range(2, 9) if P % U == 0 and not ulysses.heads_trouble(U, a, a)]
    assert (inside == []) == (a == 25)  # whether a ring across could help


def test_a_card_sends_fewer_bytes_with_a_ring_across_the_nodes():
    """Situation D: 7 hops for each of 8 cards, where one of a flat ring has 63."""
    layer = volume.LayerShape(1, 1_048_576, 4096, 32, 32, 64)
    inside = volume.METHODS["ulysses"](
        layer._replace(s=layer.s // 8, P=8)
    ).forward  # of a group, which stays in its node
    assert volume.usp(layer, 8).forward - inside == 7 / 63 * volume.METHODS["ring"](layer).forward


@pytest.mark.parametrize("P", [1, 3, 8])
def test_zigzag_is_the_layout(P):
    layout = package.zigzag(24 * P, P)
    each = layouts.work(layout).sum(1).tolist()
    for rank in range(P):
        assert write.folded(rank, P, 24 * P) == (layout.places[rank].tolist(), each[rank])


def test_masks_are_those_of_the_package():
    P, c = 4, 5
    held = [layouts.contiguous(P * c, P).tiles(rank, c)[0] for rank in range(P)]
    for rank in range(P):
        for step in range(P):
            queries, keys = held[rank], held[(rank - step) % P]
            mask = masks.visible(queries, keys, causal=True)
            want = np.ones((c, c), bool) if mask is None else mask.numpy()
            assert np.array_equal(repair.mask()(rank, step, P, c), want)


def test_attention_and_its_merge_are_the_package_s():
    q, k, v = torch.randn(3, 12, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(SEED))
    where = np.arange(12)
    whole = common.attention(*(x.numpy() for x in (q, k, v)), common.causal(where, where))
    assert np.allclose(
        whole.o, package.attention(*(x[None, None] for x in (q, k, v)), package.packed([12]), causal=True)[0, 0]
    )
    halves = [
        common.attention(q.numpy(), k[i::2].numpy(), v[i::2].numpy(), common.causal(where, where[i::2])) for i in (0, 1)
    ]
    o, L = together(*halves[0], *halves[1])
    assert np.allclose(o, whole.o) and np.allclose(L, whole.L)
    parts = [torch.from_numpy(x).reshape(12, -1) for half in halves for x in half]
    assert all(np.allclose(x.numpy(), y.reshape(12, -1)) for x, y in zip(package.merge(*parts), (o, L)))
