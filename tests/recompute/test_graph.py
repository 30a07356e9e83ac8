"""The graph of a block: what reads what, as in the block itself; and what cannot be recorded."""

import pytest
import torch
from torch import nn

from reference.perf.meter import Meter
from reference.recompute import Chain, LinkCost, equal_links
from reference.recompute.graph import OperationGraph, Vertex, as_graph, recorded
from reference.recompute.rematerialize import plan_cost

from .block import DEVICE, block, graph


def named(name):
    """The numbers of the vertices of this name."""
    return [v for v, vertex in enumerate(graph().vertices) if vertex.name == name]


def test_what_the_backward_pass_reads_of_the_forward_pass():
    vertices = graph().vertices
    gelu, (up,) = vertices[named("gelu_backward")[0]], vertices[named("gelu")[0]].parents
    assert vertices[up].name == "addmm" and up in gelu.parents and not vertices[up].backward
    attention = vertices[named("scaled_dot_product_flash_attention_for_cpu_backward")[0]]
    assert {vertices[u].name for u in attention.parents} >= {"addmm", "scaled_dot_product_flash_attention_for_cpu"}
    assert sum(not vertex.backward for vertex in vertices) == 10  # a norm, 2 products, attention, an add; again, gelu


def test_gradients_of_weights_are_made_beside_those_of_the_input_and_do_not_stay():
    made, x, _ = block()
    products = [graph().vertices[v] for v in named("mm")]
    assert len(products) == 4 and all(vertex.working > 0 for vertex in products)  # one a linear layer
    assert set(graph().gradients) == {"x", *dict(made.named_parameters())}
    assert graph().vertices[-1].nbytes == x.nbytes and made.norm1.weight.grad is None


def test_seconds_are_those_of_the_meter():
    made, x, dy = block()
    with Meter(device=DEVICE, module=made) as meter:
        torch.autograd.grad(made(x), [x, *made.parameters()], dy)
    assert graph().seconds == pytest.approx(meter.total.seconds, rel=1e-12)


class BesideItsInput(nn.Linear):
    """A layer whose input gets its gradient past it."""

    def forward(self, x):
        """x + W x, where W sees a copy of x that needs no gradient."""
        return x + super().forward(x.detach())


def test_what_makes_gradients_only_joins_no_forward_operation():
    made = recorded(BesideItsInput(3, 3), torch.ones(2, 3, requires_grad=True), DEVICE)
    assert [(vertex.name, vertex.backward) for vertex in made.vertices][:2] == [("addmm", False), ("add", False)]
    assert "mm" in [vertex.name for vertex in made.vertices if vertex.backward]


class Overwrites(nn.Module):
    """Changes what it has made."""

    def forward(self, x):
        """2 x, in place."""
        y = x * 2
        return y.add_(1)


@pytest.mark.parametrize(
    "module, why", [(nn.Dropout(0.5), "draws random numbers"), (Overwrites(), "writes into its argument")]
)
def test_what_cannot_be_computed_again_is_refused(module, why):
    with pytest.raises(ValueError, match=why):
        recorded(module, torch.ones(3, requires_grad=True), DEVICE)


def test_a_vertex_reads_earlier_ones():
    with pytest.raises(ValueError, match=r"last, vertex 0, reads \(1,\): only earlier ones"):
        OperationGraph([Vertex("last", (1,), 1, 1), Vertex("first", (), 1, 1)])
    with pytest.raises(ValueError, match="negative seconds or bytes"):
        OperationGraph([Vertex("back in time", (), -1, 1)])


def test_a_chain_as_a_graph():
    chain = Chain((*equal_links(3).links, LinkCost(1, 1, 0, 0)), 1)
    made = as_graph(chain)
    assert [vertex.parents for vertex in made.vertices] == [(), (0,), (1,), (2,), (2, 3), (1, 4), (0, 5), (6,)]
    assert plan_cost(made, range(8)) == (4 + 3 * 2 + 1, 4, 8)
    for wrong, why in ((equal_links(2), "output of 1 bytes stays"), (equal_links(2, internals=1), "record")):
        with pytest.raises(ValueError, match=why):
            as_graph(wrong)


def test_the_table_has_a_line_for_each_vertex():
    assert len(graph().table().splitlines()) == len(graph()) + 1
