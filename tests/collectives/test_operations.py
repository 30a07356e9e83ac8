"""Operations, types of elements and kinds of arrays: exact where they can be, the same bits on every rank always."""

from functools import reduce

import numpy as np
import pytest
import torch

from reference import mpi
from reference.collectives import algorithms
from reference.collectives.select import allreduce
from reference.perf.pace import pace
from reference.worlds import RankFailed, launch

from .test_algorithms import REDUCING, TABLES, Call, cases, serial

TYPES = ("float64", "float32", "float16", "int32", "int64", "uint8")
NAMES = ("SUM", "PROD", "MAX", "MIN")


def each_once(P, n, collectives=tuple(TABLES)):
    """Every algorithm with its few telling options, from the last root."""
    last = {(c.collective, c.algorithm, c.options): c for c in cases(P, [n], few=True, collectives=collectives)}
    return list(last.values())


# Types -------------------------------------------------------------------------------------------------------------


def of_all_types(P):
    """Reductions with every type and every operation; everything else with one type after the other."""
    for i, case in enumerate(each_once(P, 3 * P + 1)):
        if case.collective in REDUCING:
            yield from (case._replace(dtype=dtype, op=NAMES[(i + k) % 4]) for k, dtype in enumerate(TYPES))
        elif case.collective != "barrier":
            yield case._replace(dtype=TYPES[i % 6])


def test_types_and_operations(world):
    def program(comm):
        return [f"{case}: {fault}" for case in of_all_types(comm.size) if (fault := Call(comm, case).carry_out())]

    ranks = 6 if world == "virtual" else 3
    assert launch(program, ranks, world=world).results == [[]] * ranks


TENSORS = {
    "float64": (torch.float64, torch.float32, torch.float16, torch.bfloat16),
    "int64": (torch.int64, torch.int32),
    "uint8": (torch.uint8,),
}


def wrong_with_tensors(comm):
    faults = []
    for case in each_once(comm.size, 3 * comm.size + 1):
        for like, kinds in TENSORS.items() if case.collective in REDUCING else [("float64", TENSORS["float64"][2:])]:
            for i, kind in enumerate(kinds):
                typed = case._replace(dtype=like, op=NAMES[i % 4])
                call = Call(comm, typed, to=lambda array, kind=kind: torch.from_numpy(array).to(kind))
                if case.collective != "barrier" and (fault := call.carry_out()):
                    faults.append(f"{typed} as {kind}: {fault}")
    return faults


def test_tensors_of_all_types():
    assert launch(wrong_with_tensors, 4).results == [[]] * 4


@pytest.mark.mpi
def test_tensors_on_real_ranks_and_gloo_give_the_same(tmp_path):
    def program(comm, store):
        import torch.distributed as dist

        x = torch.arange(1001, dtype=torch.float32) * (comm.rank + 1)
        faults, theirs = wrong_with_tensors(comm), x.clone()
        dist.init_process_group("gloo", init_method=f"file://{store}", rank=comm.rank, world_size=comm.size)
        dist.all_reduce(theirs)
        dist.destroy_process_group()
        for case in each_once(comm.size, 0, ["allreduce"]):
            ours = allreduce(comm, x.clone(), algorithm=case.algorithm, **dict(case.options))
            faults += [f"{case.algorithm} is not gloo's"] * (not torch.equal(ours, theirs))
        return faults

    run = launch(program, 2, str(tmp_path / "store"), world="mpi", timeout=120 * pace())
    assert run.results == [[], []]


@pytest.mark.mpi
def test_mpis_own_allreduce_gives_the_same_with_every_operation():
    def program(comm):
        wrong, x = [], (np.arange(11) * 7 + comm.rank) % 5
        for op in ("SUM", "PROD", "MAX", "MIN", "LAND", "LOR", "BAND", "BOR"):
            comm.Allreduce(x, theirs := np.zeros_like(x), getattr(mpi, op))
            for case in each_once(comm.size, 0, ["allreduce"]):
                ours = allreduce(comm, x.copy(), getattr(mpi, op), case.algorithm, **dict(case.options))
                wrong += [f"{case.algorithm} {op}"] * (ours.tolist() != theirs.tolist())
        return wrong

    assert launch(program, 3, world="mpi").results == [[]] * 3


@pytest.mark.parametrize("shape", [(3, 4), (2, 1, 5), (0, 3), ()])
def test_arrays_of_any_shape_are_reduced_in_place(shape):
    def program(comm):
        wrong = []
        for case in each_once(comm.size, 0, ["allreduce"]):
            for full in (np.full, torch.full):
                x = full(shape, comm.rank + 1.0)
                result = allreduce(comm, x, algorithm=case.algorithm, **dict(case.options))
                if result is not x or x.tolist() != full(shape, 10.0).tolist():
                    wrong.append(f"{case.algorithm}, {type(x).__name__}: {result}")
        return wrong

    assert launch(program, 4).results == [[]] * 4


def test_matrices_are_taken_for_their_rows_one_after_the_other():
    def program(comm):
        wrong, calls = [], {name: getattr(algorithms, name) for name in TABLES if name not in ("allreduce", "barrier")}
        calls["alltoall"] = lambda comm, x: algorithms.alltoall(comm, x.copy(), x)
        for name, call in calls.items():
            x = np.arange(12.0) + 100 * comm.rank
            matrix = x.reshape(3, 4).copy()
            told, result = call(comm, x), call(comm, matrix)
            if matrix.tolist() != x.reshape(3, 4).tolist() or result.reshape(-1).tolist() != told.tolist():
                wrong.append(f"{name}: {result.tolist()} instead of {told.tolist()}")
        return wrong

    assert launch(program, 3).results == [[]] * 3


# Your own function -------------------------------------------------------------------------------------------------


def test_functions_of_two_arrays(world):
    def program(comm):
        wrong, n = [], 3 * comm.size + 1
        rows = np.random.default_rng(5).integers(1, 30, (comm.size, n))
        for op, dtype in ((np.gcd, np.int64), (lambda a, b: np.where(a < b, b, a), np.float32), (np.hypot, float)):
            whole = reduce(op, rows.astype(dtype))
            for case in each_once(comm.size, n, ["allreduce"]):
                x = rows[comm.rank].astype(dtype)
                result = allreduce(comm, x, op, case.algorithm, **dict(case.options))
                if result.dtype != dtype or not np.allclose(result, whole, rtol=1e-15 if op is np.hypot else 0, atol=0):
                    wrong.append(f"{case.algorithm} {op}: {result} instead of {whole}")
        return wrong

    ranks = 6 if world == "virtual" else 3
    assert launch(program, ranks, world=world).results == [[]] * ranks


@pytest.mark.parametrize(
    "function, returned",
    [
        (lambda a, b: (a + b).astype(np.float64), "float64"),
        (lambda a, b: (a + b).sum(), r"shape \(\)"),
        (lambda a, b: np.append(a + b, 1).astype(a.dtype), r"shape \(1?[0-9],\)"),
        (lambda a, b: (a + b).tolist(), "list"),
        (lambda a, b: None, "NoneType"),
        (lambda a, b: torch.from_numpy(a + b), "torch.float32"),
    ],
)
def test_a_function_that_returns_something_else_is_refused(function, returned):
    def ours(a, b):
        return function(a, b)

    message = r"TypeError: ours was given two arrays .* must return one of the same, not .*" + returned
    with pytest.raises(RankFailed, match=message) as raised:
        launch(lambda comm: allreduce(comm, np.ones(12, np.float32), ours, "ring"), 3)
    assert all(isinstance(error, TypeError) for error in raised.value.errors.values())


@pytest.mark.parametrize("collective, algorithm", [(c, a) for c in REDUCING for a in TABLES[c]])
def test_a_wrong_function_holds_up_nobody(collective, algorithm):
    def program(comm):
        calls = cases(4, [9], few=True, collectives=[collective])
        call = Call(comm, next(case for case in calls if case.algorithm == algorithm))
        call.keywords["op"] = lambda a, b: None
        call.carry_out()

    with pytest.raises(RankFailed, match="NoneType"):
        launch(program, 4)


def test_what_is_no_operation_is_refused():
    lacking = [(op, NotImplementedError) for op in (mpi.MPI.MINLOC, mpi.REPLACE, mpi.MPI.NO_OP)]
    for op, error in [("sum", TypeError), *lacking]:

        def program(comm, op=op, error=error):
            with pytest.raises(error):
                allreduce(comm, np.ones(4, int), op)

        launch(program, 2)


# Bits --------------------------------------------------------------------------------------------------------------


def special(rng, rank, n, dtype):
    """Zeros of both signs, infinities, and not-a-numbers that say in their bits from which rank they come."""
    x = rng.choice([0.0, -0.0, 1.0, -1.0, np.inf, -np.inf], n, p=[0.3, 0.3, 0.15, 0.15, 0.05, 0.05]).astype(dtype)
    bits = x.view(f"u{x.itemsize}")
    nan = np.array(np.nan, dtype).view(bits.dtype) + rank + 1
    bits[rng.random(n) < (0.2 if n > 3 else 1)] = nan | (rank % 2 << 8 * x.itemsize - 1)
    return x


def bits(comm, draws, to=np.copy):
    """The bytes that each algorithm leaves, by name; and which of its elements are no number."""
    told = {}
    for op, dtype, n, kind in draws:
        rng = np.random.default_rng([n, comm.rank])
        x = special(rng, comm.rank, n, dtype) if kind == "special" else rng.standard_normal(n).astype(dtype)
        for case in each_once(comm.size, 0, ["allreduce"]):
            function = getattr(mpi, op) if isinstance(op, str) else op
            with np.errstate(invalid="ignore", over="ignore"):
                result = np.asarray(allreduce(comm, to(x), function, case.algorithm, **dict(case.options)))
            what = op if isinstance(op, str) else "a - 2 b"
            told[f"{case.algorithm} {dict(case.options)}: {what} of {n} {kind} {dtype}"] = (
                result.tobytes(),
                np.isnan(result).tolist(),
            )
    return told


def that_differ(results):
    """The names of those whose bits are not the same on all ranks."""
    return [name for name in results[0] if len({one[name][0] for one in results}) > 1]


DRAWS = [("SUM", "float32", 101, "random"), (lambda a, b: a - 2 * b, "float32", 13, "random")]


@pytest.mark.parametrize("ranks", range(2, 10))
def test_floats_are_the_same_bits_on_every_rank(ranks):
    assert that_differ(launch(bits, ranks, DRAWS[: 1 + (ranks == 6)]).results) == []


@pytest.mark.mpi
def test_floats_are_the_same_bits_on_every_real_rank():
    assert that_differ(launch(bits, 3, DRAWS, world="mpi").results) == []


@pytest.mark.parametrize("op, to", [*((op, np.copy) for op in NAMES), ("SUM", torch.tensor), ("MAX", torch.tensor)])
def test_zeros_of_both_signs_and_what_is_no_number_are_the_same_bits(op, to):
    draws = [(op, "float32", 1, "special"), (op, "float16", 7, "special"), (op, "float32", 40, "special")]
    results = launch(bits, 4, draws, to).results
    rows = [special(np.random.default_rng([40, rank]), rank, 40, "float32") for rank in range(4)]
    with np.errstate(invalid="ignore"):
        undefined = np.isnan(serial(rows, op)).tolist()
    lost = [name for name, told in results[0].items() if "of 40 special float32" in name and told[1] != undefined]
    assert that_differ(results) == [] and lost == []
    assert True in undefined and False in undefined
