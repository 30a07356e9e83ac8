"""The charts in docstrings, of how data moves in a small case: they are what the rounds do."""

import pytest

from reference import mpi
from reference.collectives import binary_tree, doubling, ring


def chart(rounds, P, blocks):
    """Before and after each round, of each rank and block: of how many ranks it is the sum; a dot if handed on."""
    parts = [[1] * blocks for _ in range(P)]
    yield parts
    for now in zip(*(rounds(rank, P) for rank in range(P)), strict=True):
        before, parts = parts, [list(part) for part in parts]
        for rank, mine in enumerate(now):
            if mine.to != mpi.PROC_NULL and now[mine.to].combine:
                parts[rank][slice(*mine.send)] = [0] * (mine.send[1] - mine.send[0])
        for rank, mine in enumerate(now):
            if mine.source != mpi.PROC_NULL:
                for block in range(*mine.recv):
                    parts[rank][block] = before[mine.source][block] + mine.combine * before[rank][block]
        yield parts


@pytest.mark.parametrize(
    ("module", "rounds", "P", "blocks"),
    [
        (ring, ring.ring_allreduce_rounds, 3, 3),
        (doubling, doubling.halving_doubling_allreduce_rounds, 4, 4),
        (binary_tree, binary_tree.double_tree_allreduce_rounds, 4, 2),
    ],
)
def test_the_chart_in_the_docstring_is_what_the_rounds_do(module, rounds, P, blocks):
    lines = [f"rank   {''.join(f'  {rank:>{blocks}}' for rank in range(P))}"]
    for number, parts in enumerate(chart(rounds, P, blocks)):
        cells = ["".join(str(n or ".") for n in part) for part in parts]
        lines.append(f"{f'round {number}' if number else 'start  '}  {'  '.join(cells)}")
    assert "\n".join(" " * 14 + line for line in lines) in module.__doc__
    assert set(cells) == {str(P) * blocks}
