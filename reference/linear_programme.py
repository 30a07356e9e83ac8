"""The constraints of a linear or integer programme, row by row, as SciPy's `milp` (HiGHS) takes them."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

EXACT = {"mip_rel_gap": 0.0}  # the solver stops at a ten-thousandth else
SLACK = 1e-8  # of a limit: one that is met exactly the solver (HiGHS in SciPy 1.17) may take for one that is not


class ConstraintRows:
    """Linear constraints, row by row: low <= sum of coefficient x variable <= high."""

    def __init__(self) -> None:
        self.at: list[tuple[int, int]] = []
        self.coefficients: list[float] = []
        self.low: list[float] = []
        self.high: list[float] = []

    def add(self, variables: Iterable, coefficients, low: float, high: float) -> None:
        """One row more; a number of coefficients, or one for all these variables."""
        row, variables = len(self.low), list(variables)
        self.at += [(row, int(variable)) for variable in variables]
        self.coefficients += [float(one) for one in np.broadcast_to(coefficients, len(variables))]
        self.low.append(low)
        self.high.append(high)

    def constraint(self, variables: int):
        """The rows as scipy's milp takes them, for so many variables."""
        from scipy.optimize import LinearConstraint
        from scipy.sparse import csr_array

        rows, columns = np.array(self.at).T
        matrix = csr_array((self.coefficients, (rows, columns)), shape=(len(self.low), variables))
        return LinearConstraint(matrix, self.low, self.high)
