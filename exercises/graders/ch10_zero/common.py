"""What several exercises of chapter 10 ask of a mistake. Without NumPy: a page uses it, too."""

from collections.abc import Callable, Sequence
from typing import Any


def so_far(cases: Sequence[tuple], right: Callable[[Any, tuple], bool]) -> Callable[..., bool]:
    """Whether a mistake is right on all `cases` before this one: else it would have been found there.

    right   whether what a slip returns for a case's arguments is right
    returns a function of (slip, *arguments), for `could` of Returns; arguments that are not in `cases` come after all
    """

    def could(slip: Callable[..., Any], *arguments: Any) -> bool:
        before = cases[: cases.index(arguments)] if arguments in cases else cases
        return all(right(slip(*case), case) for case in before)

    return could
