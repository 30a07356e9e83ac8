"""What the records say of their codecs, for every codec of the catalogue: bytes, bias, sums, feedback, words."""

import dataclasses
import inspect
import math
import re

import pytest
import torch

from reference.collectives.bruck import bruck_allgather_cost
from reference.compression import CODECS, CodecRecord, codec, roundtrip
from reference.compression.hooks import chosen
from reference.compression.study import descend
from reference.models import generator, share
from reference.networks import Link
from reference.worlds import launch

RECORDS = list(CODECS.values())
each_record = pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.name)
each_variant = pytest.mark.parametrize(
    "record, options",
    [
        pytest.param(record, options, id=record.make(**options).name)
        for record in RECORDS
        for options in record.variants
    ],
)


def vector(d, seed=1):
    """Normal numbers, a few of them above any threshold."""
    x = torch.randn(d, generator=generator(seed))
    x[:3] *= 10
    return x


# Bytes


def letters(record, options, x, y):
    """What the letters of a formula stand for: options, and what y [d], decoded from x, tells."""
    told = inspect.signature(record.make).bind(**options)
    told.apply_defaults()
    d, where = len(y), y.nonzero().view(-1)
    m = math.ceil(d / (told.arguments.get("chunk") or d))
    level = (y[where].abs() / x.norm() * told.arguments.get("s", 1)).round().long()
    numbers = [*where.diff(prepend=torch.tensor([-1])).tolist(), *(2 * level - (y[where] > 0).long()).tolist()]
    digits = [int(math.log2(max(n, 1))) for n in numbers]  # in Elias's code; the numbers of other codecs are none
    u, v = sum(digits) + len(digits), sum(digits)
    return told.arguments | {"d": d, "b": math.ceil(math.log2(d)), "k": len(where), "m": m, "u": u, "v": v}


@pytest.mark.parametrize("d", [16, 300, 1000])
@each_variant
def test_the_wire_has_the_bytes_of_the_formula_that_is_shown(record, options, d):
    made, x = record.make(**options), vector(d)
    wire = made.encode(x, generator(2))
    formula = re.sub(r"(?<=[\w)]) (?=[\w(])", " * ", record.wire)
    known = letters(record, options, x, made.decode(wire, d)) | {"ceil": math.ceil, "log2": math.log2}
    assert eval(formula, {"__builtins__": {}}, known) == len(wire)


# Bias, sums


@each_variant
def test_unbiased_or_not(record, options):
    """The mean of many draws is x, or it is not: by five standard errors of the draws themselves."""
    d, N = 50, 400
    x, rng, made = 0.5 + torch.rand(d, generator=generator(7)), generator(8), record.make(**options)
    C = torch.stack([roundtrip(made, x, rng) for _ in range(N if made.random else 1)]).double()
    off = (C.mean(0) - x).norm()
    chance = (C.var(0, correction=0).sum() / len(C)).sqrt() + 1e-7 * x.norm()
    assert (off < 5 * chance) == made.unbiased


@each_variant
def test_linear_or_not(record, options):
    """C(x) + C(y) = C(x + y) with the same random numbers: then, and only then, a plain all-reduce can sum it."""
    made, x, y = record.make(**options), vector(200, 1), vector(200, 2)
    apart, whole = sum(roundtrip(made, z, generator(3)) for z in (x, y)), roundtrip(made, x + y, generator(3))
    assert torch.allclose(apart, whole, atol=1e-5) == record.linear


# Feedback


class OwnMinima:
    """Each worker's loss has a minimum of its own: what compression leaves out again and again is missed."""

    d = 20

    def __init__(self):
        rng = generator(3)
        self.minima = 2 * torch.randn(self.d, generator=rng) + torch.randn(2, self.d, generator=rng)

    def start(self):
        return torch.zeros(self.d)

    def gradient(self, w, step, rank, ranks):
        mine = share(self.minima, rank, ranks)
        return len(mine) * w - mine.sum(0), len(mine)

    def loss(self, w):
        return float((w - self.minima.mean(0)).square().sum() / 2)


@each_variant
def test_whether_training_needs_error_feedback(record, options):
    made, f = record.make(**options), OwnMinima()
    if made.contraction is None:
        assert record.feedback is None, "no bound for every vector, so no promise"
    elif made.unbiased:
        assert record.feedback is False, "right on average; fed back, the error may grow without limit"
    else:
        without, fed_back = (
            descend(f, made, 120, 0.05, workers=2, feedback=how, every=120).losses[-1] / f.loss(f.start())
            for how in (False, True)
        )
        assert fed_back < 0.01, "on the way to the minimum of the sum"
        assert (without > 5 * fed_back) == record.feedback
        assert record.feedback or without < 1e-4


# Sums over ranks


@each_record
def test_the_way_in_which_its_record_has_it_summed(record):
    """Right, alike on all ranks, and in the bytes of its way."""
    P, d, made = 3, 60, record.codec

    def program(comm):
        x = vector(d, comm.rank)
        chosen(record.name, None)(comm, 0, x).Wait()
        return x

    run = launch(program, P)
    assert all(torch.equal(x, run.results[0]) for x in run.results)
    rngs = [generator(0, 0, rank) for rank in range(P)]  # as hooks have them
    if record.two_ways:
        blocks = torch.arange(d).view(P, -1)
        said = [[roundtrip(made, vector(d, rank)[block], rngs[rank]) for block in blocks] for rank in range(P)]
        sums = [sum(said[rank][q] for rank in range(P)) for q in range(P)]
        expected = torch.cat([roundtrip(made, sums[q], rngs[q]) for q in range(P)])
        assert run.bytes_sent == [2 * (P - 1) * made.nbytes(d // P)] * P
    else:
        wires = [made.encode(vector(d, rank), rngs[rank]) for rank in range(P)]
        expected = sum(made.decode(wire, d) for wire in wires)
        sizes = 0 if made.nbytes(d) is not None else int(bruck_allgather_cost(P, P, 8, Link(0.0, 1.0)).seconds)
        assert sum(run.bytes_sent) == (P - 1) * sum(map(len, wires)) + P * sizes
    assert torch.allclose(run.results[0], expected, atol=1e-4)


# What is wrong with a record is told when it is made


def test_a_field_that_is_forgotten_is_an_error_at_import():
    fields = {field.name: getattr(CODECS["top-k"], field.name) for field in dataclasses.fields(CodecRecord)}
    for name in fields:
        with pytest.raises(TypeError, match=f"missing 1 required keyword-only argument: '{name}'"):
            CodecRecord(**{key: value for key, value in fields.items() if key != name})
    with pytest.raises(TypeError, match="unexpected keyword argument 'part'"):
        CodecRecord(**fields | {"variants": ({"part": 0.1},)})
    varying = CODECS["threshold"]
    with pytest.raises(ValueError, match="threshold: wires of varying size cannot go two ways"):
        dataclasses.replace(varying, two_ways=True)


@pytest.mark.parametrize("name", ["unbiased", "variance", "contraction"])
def test_so_is_one_of_the_codec(name):
    told = {"unbiased": False, "variance": None, "contraction": None}
    del told[name]
    with pytest.raises(TypeError, match=name):
        codec("mine", lambda x, generator: x, lambda wire, d: wire, lambda d: d, **told)
