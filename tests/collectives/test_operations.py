"""Operations, types of elements and kinds of arrays: exact where they can be, the same bits on every rank always."""

from functools import reduce
from math import gcd

import numpy as np
import pytest
import torch

from reference import mpi
from reference.collectives import algorithms, operations
from reference.collectives.algorithms import ALLREDUCE
from reference.collectives.select import allreduce
from reference.worlds import RankFailed, launch

from .test_algorithms import REDUCING, TABLES, Call, Case, cases, variants

TYPES = ("float64", "float32", "float16", "int32", "int64", "uint8")
TENSORS = (torch.float64, torch.float32, torch.float16, torch.bfloat16, torch.int32, torch.int64, torch.uint8)
NAMES = ("SUM", "PROD", "MAX", "MIN")


def everything(P, n, collectives=tuple(TABLES)):
    """Each algorithm once, with its first telling options and the last root."""
    kept = {(c.collective, c.algorithm, c.options): c for c in cases(P, [n], few=True, collectives=collectives)}
    return list(kept.values())


def faults(comm, calls):
    return [f"{case}: {fault}" for case in calls if (fault := Call(comm, case).carry_out())]


# Types -------------------------------------------------------------------------------------------------------------


def of_all_types(P):
    """Every reduction with every operation, each in another type; everything else in one type after the other."""
    moved = [case for case in everything(P, 3 * P + 1) if case.collective not in (*REDUCING, "barrier")]
    combined = [case for case in everything(P, 3 * P + 1) if case.collective in REDUCING]
    yield from (case._replace(dtype=TYPES[i % 6]) for i, case in enumerate(moved))
    for i, case in enumerate(combined):
        yield from (case._replace(dtype=dtype, op=NAMES[(i + k) % 4]) for k, dtype in enumerate(TYPES))
        yield from (case._replace(dtype=TYPES[(i + k) % 6], op=op) for k, op in enumerate(NAMES))


def test_types_and_operations(world):
    assert launch(faults, 6, list(of_all_types(6)), world=world).results == [[]] * 6
