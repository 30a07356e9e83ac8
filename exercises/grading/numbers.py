"""The ready-made check of a number that a function returns, without NumPy: a page uses it, too (in_page.py)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from .exercise import Answer, Case, Finding, Known

Close = 1e-9  # relative: far above rounding, far below any mistake
ROUNDED = "That is a whole number beside what is right. Does a //, an int() or a round() drop what is behind the point?"
DIGITS = (
    "float64 carries 16 digits, and only the first ones are right. Did numbers go through float32, were they rounded "
    "or cut off, or was something small added to them?"
)
FEW_DIGITS = 1e-5  # relative: what has the first digits right, and others wrong
NOTHING = Finding("it returned None.", "A function that ends without `return` gives None: return the result.")


@dataclass(frozen=True)
class Number:
    """A check: the function returns the number expected(*arguments); a slip is a (formula, hint) of a known mistake."""

    expected: Callable[..., float]
    slips: Sequence[Known]
    otherwise: str
    unit: str = ""

    def __call__(self, case: Case, answer: Answer) -> Finding | None:
        (arguments,), (got,) = case.arguments, answer.results
        if got is None:
            return NOTHING
        want = self.expected(*arguments)
        if isinstance(got, bool) or not isinstance(got, int | float):
            return Finding(f"it returned {short(got)}.", f"Return one number{f', in {self.unit}' * bool(self.unit)}.")
        if _equal(got, want):
            return None
        hints = (hint for formula, hint in self.slips if _slipped(got, formula, arguments))
        ratio = _ratio(got / want) if want and math.isfinite(got) else ""
        unit = f" {self.unit}" * bool(self.unit)
        whole = abs(want) > 1 > abs(got - want) and float(got).is_integer()
        last = ROUNDED if whole else DIGITS if _rounded(got, want) else self.otherwise
        return Finding(f"it returned {got:.6g}{unit}{ratio}.", next(hints, last))

    @property
    def known(self) -> list[Known]:
        """Each slip where it gives a number, and what is right elsewhere."""
        return [(self._making(formula), hint) for formula, hint in self.slips]

    def _making(self, formula: Callable[..., float]) -> Callable[..., float]:
        def answer(*arguments: Any) -> float:
            try:
                got = formula(*arguments)
            except ArithmeticError:
                got = math.nan
            return self.expected(*arguments) if math.isnan(got) else got

        return answer


def _ratio(ratio: float) -> str:
    """How many times what is right something is, in words; where that is about once, how far off."""
    near = abs(ratio - 1) < 1e-3
    return f", off by {abs(ratio - 1):.1g} of what is right" if near else f", {ratio:.4g} times what is right"


def _slipped(got: float, formula: Callable[..., float], arguments: tuple) -> bool:
    """Whether a known mistake gives `got`; it may have no result for these arguments."""
    try:
        return _equal(got, formula(*arguments))
    except ArithmeticError:
        return False


def _rounded(got: float, want: float) -> bool:
    """Whether a number is what is right, rounded, or with a few digits."""
    if not _near(float(got), float(want), 1e-2):
        return False
    return _near(float(got), float(want), FEW_DIGITS) or any(got == round(want, n) for n in range(9))


def listed(got: Any) -> Any:
    """Tuples and arrays, also inside each other, as lists: where a list is asked for they are as good."""
    got = got.tolist() if hasattr(got, "tolist") else got
    return [listed(item) for item in got] if isinstance(got, list | tuple) else got


def _equal(one: float, other: float) -> bool:
    return _near(float(one), float(other), Close)


def _near(got: float, want: float, within: float) -> bool:
    """What compare() of reference.verify says of two floats; that needs NumPy. NaN and infinity are near to nothing."""
    return math.isfinite(got) and math.isfinite(want) and abs(got - want) <= within * abs(want)


def count(number: int, noun: str) -> str:
    """A number of things in words: "1 message", "2,000 bytes"; NumPy's numbers will do, too."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def short(value: Any) -> str:
    """What a value is, and how it begins."""
    text = repr(value)
    return f"a {type(value).__name__}: {text[:60]}{'...' * (len(text) > 60)}"
