"""Plans: what is found again (Megatron-LM, sequence parallelism, data parallelism), and what a rule of thumb loses."""

import pytest

from reference.collectives.ring import ring_allreduce_cost
from reference.planner.blocks import block, feed_forward, heads, language_model, layer, parallel_layer, sizes
from reference.planner.layouts import WHOLE, cut
from reference.planner.operators import elementwise, graph, matmul, sink, source
from reference.planner.programme import integer_programme, least_memory
from reference.planner.sharding import Problem, brute_force, dynamic_programming, greedy

from .machines import LINK, NODE, SUMS

P = 4


def allreduce(count, times=1):
    return times * ring_allreduce_cost(P, count, 2, LINK).seconds


def products(plan):
    return {one.name: plan.strategy(one.name).name for one in plan.graph.operators if one.kind == "matmul"}


TENSOR = {"qkv": "column a", "out": "row a", "up": "column f", "down": "row f"}
DATA = dict.fromkeys(TENSOR, "data b")

# Found again ----------------------------------------------------------------------------------------------------------


def test_a_feed_forward_network_is_column_then_row():
    """One all-reduce forward and one backward, of the activations (Megatron-LM, figure 3a)."""
    plan = dynamic_programming(Problem(block(feed_forward("x"), sizes(1, 64, 64), (WHOLE,)), SUMS))
    assert products(plan) == {"up": "column f", "down": "row f"}
    assert plan.strategy("gelu").name == "split f"
    assert plan.collectives("forward") == plan.collectives("backward") == ["allreduce"]
    assert plan.communication == pytest.approx(allreduce(64 * 64, 2))
    assert plan.nbytes == 2 * 2 * (P - 1) * 64 * 64 * 2


def test_attention_is_divided_by_heads():
    plan = dynamic_programming(Problem(block(heads("x"), sizes(1, 64, 64, 8), (WHOLE,)), SUMS))
    assert products(plan) == {"qkv": "column a", "out": "row a"} and plan.strategy("heads").name == "split a"
    assert plan.collectives("forward") == plan.collectives("backward") == ["allreduce"]


def test_heads_that_the_ranks_do_not_divide():
    """6 heads on 4 ranks: attention itself cannot be divided, and one sample neither."""
    plan = integer_programme(Problem(block(heads("x"), sizes(1, 64, 48, 6)), SUMS))
    assert plan.strategy("heads").name == "whole"


def test_a_layer_has_four_all_reduces():
    plan = integer_programme(Problem(block(layer("x"), sizes(1, 64, 64, 8), (WHOLE,)), SUMS))
    assert products(plan) == TENSOR
    assert plan.collectives("forward") == plan.collectives("backward") == ["allreduce"] * 2
    assert plan.communication == pytest.approx(allreduce(64 * 64, 4))


def test_a_fork_adds_gradients_before_the_all_reduce():
    """Queries, keys and values by three products: still one all-reduce backward for their input."""
    parts = [matmul(name, "x", "bsh", "hf", "bsf") for name in "qkv"]
    ends = [sink(f"{one.name} end", one.name, "bsf", flows=(cut("f"),)) for one in parts]
    made = graph([source("x", "bsh", flows=(WHOLE,)), *parts, *ends], sizes(1, 64, 64))
    plan = integer_programme(Problem(made, SUMS))
    assert set(products(plan).values()) == {"column f"}
    assert plan.strategy("x fork").name == "summands back"
    assert (plan.collectives("forward"), plan.collectives("backward")) == ([], ["allreduce"])


def test_a_parallel_layer_needs_half_the_all_reduces():
    """Attention and feed-forward side by side: their summands are added before they are reduced."""
    plan = integer_programme(Problem(block(parallel_layer("x"), sizes(1, 64, 64, 8), (WHOLE,)), SUMS))
    assert products(plan) == TENSOR and plan.strategy("add1").name == "summands"
    assert plan.collectives("forward") == plan.collectives("backward") == ["allreduce"]


@pytest.fixture(scope="module")
def large():
    """A layer of 4,096 on one sequence of 2,048 tokens."""
    return Problem(block(layer("x"), sizes(1, 2048, 4096, 32)), NODE)


def test_where_norms_count_their_region_is_divided_along_the_sequence(large):
    """Megatron's sequence parallelism: all-gather and reduce-scatter in the place of all-reduce, and as many bytes."""
    plan = integer_programme(large)
    assert products(plan) == TENSOR
    assert {plan.strategy(name).name for name in ("norm1", "add1", "norm2", "add2")} == {"split s"}
    n = 2048 * 4096
    assert sorted(plan.collectives("forward", n)) == sorted(plan.collectives("backward", n))
    assert sorted(plan.collectives("forward", n)) == ["allgather"] * 2 + ["reduce_scatter"] * 2
    norms = 4 * 2 * (P - 1) * 4096 * 2  # what this costs: gradients of gains and shifts
    assert plan.nbytes == 4 * 2 * (P - 1) * n * 2 + norms


def test_a_memory_limit_makes_it_divide_the_norms_and_gather_again(large):
    problem = Problem(block(layer("x"), sizes(1, 64, 64, 8), (WHOLE, cut("s"))), SUMS)
    quick, least = integer_programme(problem), least_memory(problem).memory
    tight = integer_programme(problem, least)
    assert quick.strategy("norm1").name == "whole" and tight.strategy("norm1").name.startswith("split s")
    assert least == tight.memory < quick.memory and quick.seconds < tight.seconds
    tight = integer_programme(large, least_memory(large).memory)
    assert products(tight)["qkv"] == "column a, input gathered along s"
    assert products(tight)["up"] == "column f, input gathered along s"


def test_a_sharded_vocabulary(large):
    plan = integer_programme(Problem(language_model(1, sizes(1, 64, 64, 8, v=512)), SUMS))
    assert plan.strategy("head").name == "column v" and plan.strategy("loss").name == "split v"
    assert not [one for one in plan.transfers if one.elements >= 64 * 512]  # neither logits nor the table


# Tensor or data -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("tokens", [128, 248, 256, 264, 1024])
def test_data_parallelism_pays_from_as_many_tokens_as_the_inner_width(tokens):
    """Weights' gradients, 2 h f elements, against activations, 2 h a token: equal at f tokens."""
    h, f = 64, 256
    plan = dynamic_programming(Problem(block(feed_forward("x"), sizes(tokens, 1, h, f=f)), SUMS))
    assert plan.communication == pytest.approx(min(allreduce(tokens * h, 2), allreduce(h * f, 2)))
    if tokens != f:
        tensor = {"up": "column f", "down": "row f"}
        assert products(plan) == (tensor if tokens < f else {"up": "data b", "down": "data b"})


@pytest.mark.parametrize(
    "tokens, chosen",
    [
        (128, TENSOR),
        (224, {**TENSOR, "qkv": "data b", "out": "data b"}),
        (320, DATA),
    ],
)
def test_attention_goes_over_to_data_parallelism_first(tokens, chosen):
    """It has 4 h^2 weights, the feed-forward network 8 h^2, and both send as much of each token: between 2 h and 4 h
    tokens each part goes its own way. (2 h and a little: the norms' gradients are the price of data parallelism.)"""
    h = 64
    plan = integer_programme(Problem(block(layer("x"), sizes(tokens, 1, h, 4)), SUMS))
    assert products(plan) == chosen


# Against the rule of thumb --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "made, setting, least",
    [
        (block(feed_forward("x"), sizes(1, 1024, 4096)), NODE, 1.3),
        (block(feed_forward("x"), sizes(64, 1024, 4096)), NODE, 1.7),
        (block(layer("x"), sizes(1, 2048, 4096, 32)), NODE, 1.4),
        (block(layer("x"), sizes(1, 1024, 1024, 16)), NODE, 1.8),
    ],
    ids=["feed-forward", "large batch", "layer", "small layer"],
)
def test_the_rule_of_thumb_loses(made, setting, least):
    """It decides both products before what lies between them, and shards them where the batch should be divided."""
    problem = Problem(made, setting)
    best, thumb = integer_programme(problem), greedy(problem)
    assert least < thumb.seconds / best.seconds < 1.3 * least


def test_what_the_rule_of_thumb_sends():
    problem = Problem(block(feed_forward("x"), sizes(128, 1, 64)), SUMS)
    best, thumb = dynamic_programming(problem), greedy(problem)
    assert [one.name for one in thumb.chosen[:4]] == ["split h", "row h", "split f", "row f"]
    assert 2.1 < thumb.nbytes / best.nbytes < 2.6


def test_the_rule_of_thumb_keeps_neighbours_alike():
    """6 is no multiple of 4, so the product is cut by columns, and what takes its output or makes its input follows."""
    parts = [
        elementwise("first", "x", "bsh"),
        matmul("up", "first", "bsh", "hf", "bsf"),
        elementwise("last", "up", "bsf"),
    ]
    thumb = greedy(Problem(block(parts, sizes(1, 3, 6, f=8)), SUMS))
    assert [one.name for one in thumb.chosen] == ["whole", "whole", "column f", "split f", "split f"]


def test_no_plan_is_better_than_the_best(large):
    for found in (greedy(large), large.choose(), least_memory(large)):
        assert found.seconds >= integer_programme(large).seconds


# What is said ---------------------------------------------------------------------------------------------------------


def test_a_plan_prints_itself():
    text = str(dynamic_programming(Problem(block(feed_forward("x"), sizes(1, 64, 64)), SUMS)))
    assert text.splitlines()[2].split() == ["up", "column", "f", "S(f)/S(f)", "allreduce"]
    assert text.splitlines()[4].split() == ["down", "row", "f", "P/R"]
    assert text.splitlines()[-1].endswith("MB a rank")


def test_what_is_refused():
    network = block(layer("x"), sizes(1, 64, 64, 8))
    with pytest.raises(ValueError, match="use the integer programme"):
        dynamic_programming(Problem(network, SUMS))
    with pytest.raises(ValueError, match="combinations are too many to try"):
        brute_force(Problem(network, SUMS))
    with pytest.raises(ValueError, match="a group has at least 1 rank, got 0"):
        Problem(network, SUMS._replace(P=0))
    with pytest.raises(ValueError, match=r"x has no strategy on 4 ranks that is one of S\(b\)/S\(b\)"):
        Problem(block(layer("x"), sizes(1, 64, 64, 8), (cut("b"),)), SUMS)
    with pytest.raises(KeyError):
        Problem(network, SUMS).choose(up="row v")
