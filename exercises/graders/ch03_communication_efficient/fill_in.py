"""Level 2 of chapter 3, fill in: rounding at random, and error feedback."""

import functools

import numpy as np

from exercises.grading import Case, Exercise, Finding, checks
from exercises.grading.returns import Returns

from .common import CLOSE, CLOSE32, alike, first_wrong


def numbers(rng):
    """Cases of stochastic_round."""
    for n, what, x in (
        (40, "positive numbers", np.append(0.25, rng.uniform(0, 9, 39))),
        (40, "numbers of both signs", rng.uniform(-9, 9, 40)),
        (11, "whole numbers", np.arange(-5.0, 6.0)),
        (20, "small numbers", rng.uniform(-0.4, 0.4, 20)),
        (6, "whole numbers, u = 0", np.arange(-3.0, 3.0)),
        (0, "no numbers", np.empty(0)),
        (8, "large numbers", rng.uniform(-1, 1, 8) * 2.0**45),
        (1500, "many numbers", rng.uniform(-9, 9, 1500)),
    ):
        u = np.zeros(n) if "u = 0" in what else rng.uniform(0, 1, n)
        if what == "positive numbers":
            u[0] = 0.5  # is below neither 0.25 nor 0.5: all is not rounded up
            x[1], u[1] = 0.75, 0.75 - 2.0**-40  # is below it, if only just
        yield Case(what, ((x, u),))


def rounded(low=np.floor, above=lambda x, u: u < x - np.floor(x)):
    """What somebody returns who rounds like this."""
    return lambda x, u: low(x) + above(x, u)


def which_neighbour(case, got, want):
    """The hint for what none of the known mistakes gives."""
    ((x, _),), (got,) = case.arguments, got
    wrong = got != want[0]
    if (np.abs(x[wrong]) > 2**23).all():
        return (
            "Only large numbers are wrong. Which type of element do the numbers have on their way, and how large may a "
            "number be there, or how exact? x is float64, and so is the result; np.floor changes no type."
        )
    if ((got == np.floor(x)) | (got == np.ceil(x))).all():
        return (
            "Each number became one of the two next to it, but not the one that u decides for. It is u, the argument, "
            "that is to be compared with the distance from the whole number below, so that results can be compared."
        )
    return (
        "Two whole numbers are next to x. Which is the one below, also for negative x, and how far is x from it? A "
        "whole number is its own."
    )


stochastic_round = Exercise(
    cases=numbers,
    checks=[
        checks.arrays(lambda case, rank: case.arguments[0][0].shape),
        Returns(
            rounded(),
            slips=[
                (
                    rounded(np.round, lambda x, u: 0),
                    "That is rounded to nearest, and not at random: 0.3 would be 0 in every step, for ever.",
                ),
                (
                    rounded(np.floor, lambda x, u: u <= x - np.floor(x)),
                    "u may be 0, and whole numbers must stay: less, or less or equal?",
                ),
                (rounded(np.floor, lambda x, u: 0), "All is rounded down. Is u looked at?"),
                (
                    rounded(np.floor, lambda x, u: u < np.ceil(x) - x),
                    "The probabilities are exchanged: a number just below the next whole one should nearly always go "
                    "up. (That is the formula with ceil(x) - x: it is the probability of going down.)",
                ),
                (
                    rounded(np.floor, lambda x, u: u >= x - np.floor(x)),
                    "The probabilities are exchanged: 2.25 should go up in one of four cases, where u is below 0.25.",
                ),
                *[
                    (
                        rounded(np.ceil, above),
                        "It begins from the whole number above, and then adds 1: ceil where floor is meant.",
                    )
                    for above in (lambda x, u: u < np.ceil(x) - x, lambda x, u: u < x - np.floor(x))
                ],
                *[
                    (
                        rounded(np.trunc, above),
                        "Positive numbers are right. For negative ones int() and trunc go up, towards 0: what is the "
                        "whole number below -2.25, and how far is it from there?",
                    )
                    for above in (
                        lambda x, u: u < x - np.trunc(x),
                        lambda x, u: u < np.abs(x - np.trunc(x)),
                        lambda x, u: u < x - np.floor(x),
                    )
                ],
                *[
                    (
                        rounded(np.floor, above),
                        "Positive numbers are right. Behind the point of -2.25 stands its distance from -2. How "
                        "far is it from the whole number below?",
                    )
                    for above in (lambda x, u: u < np.abs(x) % 1, lambda x, u: u < np.modf(x)[0])
                ],
                (
                    lambda x, u: np.sign(x) * rounded()(np.abs(x), u),
                    "The mean is right. But with its sign set aside a negative number goes away from 0 "
                    "where u is small. The docstring goes up there, so that results can be compared.",
                ),
                (
                    rounded(np.floor, lambda x, u: u < 0.5),
                    "Every number goes up with probability 1/2, whatever stands behind its point. How often should "
                    "2.25 go up, and how often 2.75?",
                ),
                (
                    rounded(np.round, lambda x, u: u < x - np.round(x)),
                    "low is the nearest whole number here. What is nearer to the one above never goes down, so the "
                    "mean is too large.",
                ),
                (
                    rounded(np.ceil, lambda x, u: u < x - np.ceil(x)),
                    "All is rounded up, whatever u is. (x minus the whole number above it is never positive.)",
                ),
                (
                    rounded(np.floor, lambda x, u: u < x),
                    "u is compared with x itself. With which part of it should it be?",
                ),
                (lambda x, u: +x, "Nothing was rounded."),
                (
                    rounded(np.round),
                    "It begins from the nearest whole number, and goes up from there. From which one must it begin, "
                    "so that the mean is right?",
                ),
                (
                    lambda x, u: np.floor(x + u),
                    "On average that is right as well: it goes up where u is large. The docstring goes up where u is "
                    "small, so that results can be compared.",
                ),
            ],
            otherwise=which_neighbour,
            same=alike,
            seen=first_wrong,
        ),
    ],
    hints=[
        "Draw the numbers from -3 to 3 on a line, and -2.25 among them. Between which whole numbers is it, and what "
        "is its distance from the one on the left?",
        "2.25 must become 3 in a quarter of all cases: 2 * 3/4 + 3 * 1/4 = 2.25. For evenly distributed u, how often "
        "is u below 0.25?",
        "low is np.floor(x), an array; the distance is x - low. True counts as 1 when it is added.",
    ],
)


def steps(*rows):
    """Cases (d, k, number of gradients)."""

    def cases(rng):
        for d, k, number in rows:
            size = 1e-6 if d > 1000 else 1.0  # a number is not small by itself, but beside others
            gradients = [size * rng.standard_normal(d) for _ in range(number)]
            yield Case(f"d = {d}, k = {k}, {checks.count(number, 'step')}", ((gradients, k),))

    return cases


def fed_back(
    gradients, k, p=lambda g, e: g + e, e=lambda g, e, p, c: p - c, key=np.abs, by_g=False, sent_as=lambda p: p
):
    """(sent, e) of error feedback, or of what somebody does in its place."""
    sent, error = [], np.zeros_like(gradients[0])
    for g in gradients:
        to_send = p(g, error)
        largest = np.argsort(key(g if by_g else to_send))[-k:]
        c = np.zeros_like(to_send)
        c[largest] = sent_as(to_send[largest])
        sent.append(c)
        error = e(g, error, to_send, c)
    return sent, error


OTHER_FEEDBACK = [
    (
        {"p": lambda g, e: g, "e": lambda g, e, p, c: e + g - c},
        "The error is added up, and never fed back: what is sent in a step is made of g alone. So a number that is "
        "small in every gradient is never sent, and e grows for ever. (Textbooks have this one.)",
    ),
    ({"p": lambda g, e: g}, "The error is never fed back: what is sent in a step is made of g alone."),
    (
        {"e": lambda g, e, p, c: e + p - c},
        "The error is fed back twice: p has the old e in it already, and so has p - c.",
    ),
    (
        {"e": lambda g, e, p, c: g - c},
        "What was left from earlier steps is forgotten: of g + e, which part has not been sent?",
    ),
    (
        {"e": lambda g, e, p, c: c - p},
        "The sign of e is wrong: what has not been sent is to be added, not taken away.",
    ),
    ({"p": lambda g, e: g - e}, "The error is taken away from the gradient. It is what is still owed."),
    (
        {"e": lambda g, e, p, c: np.zeros_like(g)},
        "What was left out is forgotten: e stays 0, and this is plain Top-K.",
    ),
    ({"e": lambda g, e, p, c: c}, "e is what was sent. Asked for is what was not."),
    ({"e": lambda g, e, p, c: p}, "e has all of p in it, also what was sent: that would be sent again."),
    (
        {"by_g": True},
        "What is sent is chosen by g alone: what is owed can wait for ever. Which numbers decide who is sent?",
    ),
    ({"sent_as": np.abs}, "The magnitudes are sent. They decide which numbers are sent; these keep their signs."),
    (
        {"key": lambda p: p},
        "The largest were taken, and not those of largest magnitude: -5 is more worth sending than 1.",
    ),
    (
        {"key": lambda p: -np.abs(p)},
        "The smallest were taken: argsort begins with the smallest, and [-k:] takes from the end.",
    ),
]


def arrays_of_steps(case, results):
    """(sent, e), and sent has an array for each step."""
    ((gradients, _),), (got,) = case.arguments, results
    d, number = gradients[0].size, len(gradients)
    if not isinstance(got, tuple | list) or len(got) != 2:
        return Finding("it did not return (sent, e).", "Return two things: a list of arrays, and an array.")
    if not isinstance(got[0], list | tuple | np.ndarray) or len(got[0]) != number:
        return Finding(
            f"sent is no list of {checks.count(number, 'array')}.", "It has an array of d numbers for each step."
        )
    if not all(isinstance(each, np.ndarray) and each.shape == (d,) for each in together(got)):
        return Finding(f"not all of sent and e are arrays of {d} numbers.", checks.SHAPE)
    strange = {each.dtype.name for each in together(got)} - {"float64"}
    if strange:
        return Finding(
            f"there are arrays of {strange.pop()} among them.", "The gradients are float64: so is what is sent."
        )
    return None


def together(got):
    """All arrays of (sent, e)."""
    return [*got[0], got[1]]


def all_alike(some, others, close=CLOSE):
    return all(alike(one, other, close) for one, other in zip(some, others))


def first_unlike(case, got, want):
    where = next(t for t, (one, other) in enumerate(zip(got[0], want[0])) if not alike(one, other))
    return f"{'e in the end' if where + 1 == len(got[0]) else f'what is sent in step {where}'} is not right."


def follow_one(case, got, want):
    """The hint for what none of the known mistakes gives."""
    (_, k), (*sent, _) = case.arguments[0], got[0]
    if len(sent) > 1 and sent[0].any() and all(np.array_equal(each, sent[0]) for each in sent):
        return "All entries of sent are equal: is it one array, written again in each step? Each needs one of its own."
    if any(np.count_nonzero(each) > k for each in sent):
        return f"More than k = {k} numbers are sent in a step. Which are the k largest, and what becomes of the others?"
    return "Follow one number over three steps in which it is never sent, and then is: what is in e each time?"


error_feedback = Exercise(
    cases=steps((6, 1, 4), (10, 3, 5), (30, 4, 6), (8, 1, 12), (5, 5, 3), (7, 2, 1), (1500, 20, 2)),
    checks=[
        Returns(
            fed_back,
            slips=[(functools.partial(fed_back, **change), hint) for change, hint in OTHER_FEEDBACK],
            otherwise=follow_one,
            seen=first_unlike,
            form=arrays_of_steps,
            read=together,
            same=all_alike,
            nearly=functools.partial(all_alike, close=CLOSE32),
        ),
    ],
    hints=[
        "Take d = 2, k = 1, and the gradient [3, 1] in every step. What is sent in the first step, what is left? And "
        "in the second, third and fourth?",
        "p is what should be sent if there were room: this gradient, and all that is still owed. The k largest of "
        "what are to be chosen, if -5 is as urgent as 5?",
        "Of p, the part c has been sent. What is left is e, and the old e is in it already.",
    ],
)
