"""What several exercises of chapter 1 ask of a case."""

import math


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


def rounds(P):
    return math.ceil(math.log2(P))
