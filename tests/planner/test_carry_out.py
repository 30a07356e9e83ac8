"""Plans carried out: results of the serial model, bytes and seconds of the plan."""

import pytest
import torch
import torch.nn.functional as F

from reference.planner.blocks import block, feed_forward, heads, layer, parallel_layer, sizes
from reference.planner.carry_out import carry_out
from reference.planner.operators import add, bias, cross_entropy, embedding, graph, matmul, norm, sink, source
from reference.planner.programme import integer_programme, least_memory
from reference.planner.sharding import Problem, greedy
from reference.worlds import RankFailed, launch

from .machines import EXACT, drawn, results, run, serial

BLOCKS = {
    "feed-forward": block(feed_forward("x"), sizes(4, 4, 8)),
    "heads": block(heads("x"), sizes(2, 2, 8, 4)),
    "layer": block(layer("x"), sizes(1, 8, 8, 4)),
    "parallel layer": block(parallel_layer("x"), sizes(4, 2, 8, 4)),
    "biases": block(
        [
            matmul("up", "x", "bsh", "hf", "bsf"),
            bias("up bias", "up", "bsf", "f"),
            matmul("down", "up bias", "bsf", "fh", "bsh"),
            bias("down bias", "down", "bsh", "h"),
            add("add", "x", "down bias", "bsh"),
        ],
        sizes(4, 4, 8),
    ),
    "bias": block([bias("shift", "x", "bsh", "h"), add("add", "x", "shift", "bsh")], sizes(2, 2, 4)),
    "words": graph(
        [
            source("tokens", "bs", gradient=False),
            embedding("embedding", "tokens"),
            norm("norm", "embedding", "bsh"),
            matmul("head", "norm", "bsh", "hv", "bsv"),
            sink("y", "head", "bsv"),
        ],
        sizes(4, 4, 8, v=16),
    ),
}
FOUND = {"quickest": integer_programme, "of least memory": least_memory, "greedy": greedy}


def agrees(plan):
    """Whether a plan gives what one rank gives, with the bytes and the seconds that it says."""
    done = run(plan)
    expected, found = serial(plan.graph), results(plan, done.results)
    assert found.keys() == expected.keys()
    for name, tensor in expected.items():
        torch.testing.assert_close(found[name], tensor, rtol=1e-12, atol=1e-12)
    assert sum(done.bytes_sent) == plan.nbytes
    assert done.seconds == pytest.approx(plan.communication, rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("how", FOUND)
@pytest.mark.parametrize("name", BLOCKS)
def test_plans_give_the_serial_results_with_the_bytes_and_seconds_that_they_say(name, how):
    agrees(FOUND[how](Problem(BLOCKS[name], EXACT)))


@pytest.mark.parametrize("P", [1, 2, 3])
def test_on_other_numbers_of_ranks(P):
    graph = block(layer("x"), sizes(2, 6, 12, 6))
    agrees(integer_programme(Problem(graph, EXACT._replace(P=P))))


@pytest.mark.parametrize("name", ["heads", "words", "bias"])
def test_every_strategy_of_every_operator_is_right(name):
    """One operator at a time works in each of its ways, the others whole."""
    problem = Problem(BLOCKS[name], EXACT._replace(P=2))
    expected, tensors = serial(BLOCKS[name]), drawn(BLOCKS[name])
    for i, found in enumerate(problem.strategies):
        for s in range(1, len(found)):
            plan = problem.plan([s if i == j else 0 for j in range(len(problem.strategies))])
            done = run(plan, tensors)
            for key, tensor in results(plan, done.results).items():
                torch.testing.assert_close(tensor, expected[key], rtol=1e-12, atol=1e-12)
            assert sum(done.bytes_sent) == plan.nbytes, found[s].name


def test_a_layer_is_that_of_a_transformer():
    """What `LOCAL` computes on one rank, written out."""
    made = BLOCKS["layer"]
    values, weights, _ = drawn(made)
    x, own = values["x"], {name: one if len(one) > 1 else one[0] for name, one in weights.items()}
    q, k, v = torch.einsum("bsh,hae->base", F.layer_norm(x, (8,), *own["norm1"]), own["qkv"]).chunk(3, -1)
    scores = (q @ k.mT / 2**0.5).masked_fill(torch.ones(8, 8).triu(1).bool(), -torch.inf)
    x = x + torch.einsum("basd,adh->bsh", scores.softmax(-1) @ v, own["out"])
    x = x + F.gelu(F.layer_norm(x, (8,), *own["norm2"]) @ own["up"]) @ own["down"]
    torch.testing.assert_close(serial(made)["y"], x, rtol=1e-12, atol=1e-12)


def test_each_rank_holds_its_share():
    """Column and row: a quarter of each weight and of each gradient, and the products with it."""
    problem = Problem(block(feed_forward("x"), sizes(1, 1, 8)), EXACT)
    for rank in run(problem.choose(up="column f", gelu="split f", down="row f")).results:
        assert [weight.shape for (weight,) in rank.weights.values()] == [(8, 8), (8, 8)]


def test_what_is_refused():
    plan = Problem(BLOCKS["feed-forward"], EXACT).choose()
    with pytest.raises(RankFailed, match="this plan is for 4 ranks, and there are 2"):
        launch(lambda comm: carry_out(comm, plan, {}, {}, {}), 2)
    loss = graph([source("x", "bsv"), cross_entropy("loss", "x")], sizes(4, 4, 4, v=4))
    with pytest.raises(RankFailed, match="cross entropy can be planned, but is not carried out here"):
        run(Problem(loss, EXACT).choose())
