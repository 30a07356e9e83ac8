"""What several exercises of chapter 1 ask of a case."""

import math

from exercises.grading.exercise import ALPHA, BETA
from exercises.grading.inputs import MANY

__all__ = ["MANY", "elements", "length", "longer_than_x", "message", "right", "rounds", "whole"]


def elements(case):
    return case.arguments[0][0].size


def length(case, block):
    """Elements in a block, when n elements are cut into one block a rank."""
    n, P = case.arguments[0][0].size, case.ranks
    return n // P + (block % P < n % P)


def whole(case, rank):
    """The shape of a result that is as long as x."""
    return case.arguments[0][0].shape


def right(case, rank):
    return (rank + 1) % case.ranks


def message(case):
    """Seconds that one message of all of x takes."""
    return ALPHA + 8 * elements(case) * BETA


def longer_than_x(case, answer):
    """The hint for somebody who is late because a message is longer than x; "" for others."""
    longest = max((nbytes for sent in answer.sent for _, nbytes in sent), default=0)
    if longest <= 8 * elements(case):
        return ""
    return f"A message of yours has {longest:,} bytes, and x only {8 * elements(case):,}. What else is in it?"


def rounds(P):
    return math.ceil(math.log2(P))
