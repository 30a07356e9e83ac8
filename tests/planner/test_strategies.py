"""Strategies: the table of a matrix product, what each sends and keeps, and what is not offered."""

import pytest

from reference.planner.blocks import sizes
from reference.planner.layouts import SHARED, SUMMANDS, WHOLE, cut
from reference.planner.operators import add, attention, bias, cross_entropy, embedding, matmul, norm, sink, source
from reference.planner.strategies import price, strategies

from .machines import NODE, SUMS

SIZES = sizes(8, 4, 16, 4, v=12)
UP = matmul("up", "x", "bsh", "hf", "bsf")


def named(operator, P=4, sizes=SIZES):
    return {one.name: one for one in strategies(operator, sizes, P)}


def cost(operator, name, setting=SUMS):
    return price(operator, named(operator)[name], SIZES, setting)


def sent(operator, name):
    return [(one.phase, one.collective, one.elements) for one in cost(operator, name).transfers]


def test_the_table_of_a_product():
    found = named(UP)
    flows = {name: (one.takes[0], *map(str, one.holds), one.makes) for name, one in found.items()}
    assert flows == {
        "whole": (WHOLE, "R", WHOLE),
        "data b": (cut("b"), "R", cut("b")),
        "data b, weights in shards": (cut("b"), "S(h)", cut("b")),
        "data s": (cut("s"), "R", cut("s")),
        "data s, weights in shards": (cut("s"), "S(h)", cut("s")),
        "row h": (cut("h"), "S(h)", SUMMANDS),
        "column f": (SHARED, "S(f)", cut("f")),
        "column f, input gathered along b": (cut("b"), "S(f)", cut("f")),
        "column f, input gathered along s": (cut("s"), "S(f)", cut("f")),
        "column f, input gathered along h": (cut("h"), "S(f)", cut("f")),
    }


def test_what_a_product_sends_itself():
    W, X = 16 * 64, 8 * 4 * 16
    assert sent(UP, "whole") == sent(UP, "row h") == sent(UP, "column f") == []
    assert sent(UP, "data b") == [("backward", "allreduce", W)]
    shards = [("forward", "allgather", W), ("backward", "allgather", W), ("backward", "reduce_scatter", W)]
    assert sent(UP, "data b, weights in shards") == shards
    again = [("forward", "allgather", X), ("backward", "allgather", X), ("backward", "reduce_scatter", X)]
    assert sent(UP, "column f, input gathered along s") == again


def test_what_a_product_keeps():
    W, X, Y, state, size = 16 * 64, 8 * 4 * 16, 8 * 4 * 64, 16, 2
    kept = {name: (cost(UP, name).kept, cost(UP, name).working) for name in named(UP)}
    assert kept["whole"] == (W * state + X * size, Y * size)
    assert kept["data b"] == (W * state + X * size // 4, Y * size // 4)
    assert kept["data b, weights in shards"] == (W * state // 4 + X * size // 4, Y * size // 4 + W * size)
    assert kept["row h"] == (W * state // 4 + X * size // 4, Y * size)
    assert kept["column f"] == (W * state // 4 + X * size, Y * size // 4)
    assert kept["column f, input gathered along s"] == (W * state // 4 + X * size // 4, Y * size // 4 + X * size)


def test_what_needs_no_input_backward_keeps_none():
    assert cost(add("add", "x", "y", "bsh"), "split s").kept == 0
    assert cost(bias("bias", "x", "bsh", "h"), "split s").kept == 16 * 16
    assert cost(norm("norm", "x", "bsh"), "split s").kept == 2 * 16 * 16 + 8 * 4 * 16 * 2 // 4


def test_seconds_are_those_of_the_roofline():
    whole = 3 * 2 * 8 * 4 * 16 * 64 / 1e9
    assert cost(UP, "whole").seconds == pytest.approx(whole)
    for name in set(named(UP)) - {"whole"}:
        assert cost(UP, name).seconds == pytest.approx(whole / 4)
    moved = 2 * (8 * 4 * 16 * 2 + 2 * 16)  # a norm: in, out, gain and shift
    assert cost(norm("norm", "x", "bsh"), "whole", NODE).seconds == pytest.approx(3 * moved / 2e12)
    heads = attention("heads", "x")
    assert cost(heads, "split a").seconds == pytest.approx(3 * 4 * 8 * 4 * 4 * 16 / 4 / 1e9)  # 4 b s^2 h FLOPs


def test_the_ways_of_the_others():
    assert list(named(norm("n", "x", "bsh"))) == [
        "whole", "split b", "split b, weights in shards", "split s", "split s, weights in shards",
    ]  # fmt: skip
    assert list(named(attention("a", "x"))) == ["whole", "split b", "split a"]
    assert list(named(add("a", "x", "y", "bsh"))) == [
        "whole",
        "split b",
        "split s",
        "split h",
        "summands",
        "summands back",
    ]
    words = named(embedding("e", "tokens"))
    assert words["split v"].makes == SUMMANDS and words["split h"].makes == cut("h")
    assert sent(embedding("e", "tokens"), "split b") == [("backward", "allreduce", 12 * 16)]


def test_a_bias_takes_no_summands():
    """Else each of P ranks adds it, and the sum has it P times."""
    shift = bias("bias", "x", "bsh", "h")
    assert all(one.takes[0].value.kind != "P" for one in named(shift).values())
    assert sent(shift, "split h") == [] and sent(shift, "split s") == [("backward", "allreduce", 16)]


def test_a_sharded_vocabulary_never_gathers_the_logits():
    assert sent(cross_entropy("loss", "x"), "split v") == 3 * [("forward", "allreduce", 8 * 4)]
    ways = named(cross_entropy("loss", "x"))
    assert ways["split v"].takes == (cut("v"),)
    assert (ways["split v"].makes, ways["split b"].makes) == (WHOLE, SUMMANDS)


def test_a_dimension_that_the_ranks_do_not_divide_is_not_offered():
    assert not [name for name in named(UP, 5) if name != "whole"]
    assert list(named(attention("a", "x"), 8)) == ["whole", "split b"]  # 8 samples, 4 heads
    assert list(named(UP, 1)) == ["whole"]


def test_ends_may_be_told_their_layouts():
    allowed = (WHOLE, cut("s"))
    assert [one.makes for one in named(source("x", "bsh", flows=allowed)).values()] == list(allowed)
    assert [one.takes[0] for one in named(sink("y", "x", "bsh", flows=allowed)).values()] == list(allowed)
