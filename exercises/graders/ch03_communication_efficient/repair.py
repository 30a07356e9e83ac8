"""Level 4 of chapter 3, repair: a momentum that walks uphill, and a compensation that is none."""

import functools
import itertools

import numpy as np

from exercises.grading import Case, Distributed, Exercise, checks
from exercises.grading.returns import Returns

from ..ch02_data_parallel.common import called
from .common import CLOSE32, NUMBERED_AGAIN, Gradient, alike, allreduces, first_wrong, result


def phases_of(*rows):
    """Cases (P, d, phases, period, alpha, beta)."""

    def cases(rng):
        for P, d, phases, period, alpha, beta in rows:
            w = rng.standard_normal(d)
            held = [Gradient(rng, d, phases * period) for _ in range(P)]
            what = f"{checks.count(phases, 'phase')} of {checks.count(period, 'step')}, alpha {alpha}, beta {beta}"
            yield Case(
                f"{checks.count(P, 'rank')}, {what}",
                tuple((w.copy(), gradient, phases, period, 0.25, alpha, beta) for gradient in held),
            )

    return cases


def slow(case, uphill=False, summed=False, momentum=True, by_rate=True, nesterov=False, first=int, **other):
    """The weights after SlowMo, or after somebody's version of it, in which a phase begins at step first(its first)."""
    w, _, phases, period, rate, alpha, beta = case.arguments[0]
    u = np.zeros_like(w)
    for phase in range(phases):
        ways = []
        for _, gradient, *_ in case.arguments:
            local = w.copy()
            for step in range(period):
                local = local - rate * gradient(local, first(phase * period) + step)
            ways.append(local - w)
        p = -np.sum(ways, axis=0) / (1 if summed else case.ranks) / (1 if other.get("not_over_rate") else rate)
        before, u = u, beta * u * momentum + other.get("part", 1) * p
        step = p + beta * u if nesterov else before if other.get("one_late") else u
        w = w - (-1 if uphill else 1) * alpha * (rate if by_rate else 1) * step
    return w


REASONS = {  # in the order in which they are told
    "uphill": "It walks uphill: the way leads downhill already, and going against it is going back. Two minus signs, "
    "or none.",
    "summed": "The ranks' ways are added up, and not averaged: P times too far in each phase.",
    "momentum": "There is no slow momentum: a phase forgets what the one before it did. What must be kept from phase "
    "to phase, and what is done to it by beta?",
}


def unrepaired():
    """What is left wrong, as options of `slow`: each on its own and together."""
    for number in (1, 2, 3):
        for left in itertools.combinations(REASONS, number):
            yield {name: name != "momentum" for name in left}


slow_momentum = Distributed(
    cases=phases_of(
        (2, 5, 3, 3, 1.0, 0.625),
        (3, 4, 4, 2, 0.75, 0.25),
        (2, 4, 2, 2, 1.0, 0.0),
        (1, 4, 3, 2, 0.5, 0.5),
        (4, 3, 3, 1, 1.0, 0.75),
        (2, 1500, 2, 1, 1.0, 0.5),
    ),
    checks=[
        checks.arrays(lambda case, rank: case.arguments[rank][0].shape),
        checks.kept("w"),
        called(
            lambda case: ["Allreduce"] * case.arguments[0][2],
            lambda case, made: (
                "Nothing was sent: every rank trains its own model."
                if not made
                else "One Allreduce a phase is enough: of the ways, or of the weights. The momentum is the same on "
                "all ranks already, if all compute it from the mean."
            ),
        ),
        result(
            lambda case, rank: slow(case),
            slips=[
                *[
                    (lambda case, rank, left=left: slow(case, **left), REASONS[next(iter(left))])
                    for left in unrepaired()
                ],
                *[
                    (
                        lambda case, rank, uphill=uphill: slow(case, by_rate=False, uphill=uphill),
                        "The momentum is one of gradients: the way is divided by rate when it goes in, so the step is "
                        "multiplied by rate when it comes out.",
                    )
                    for uphill in (False, True)
                ],
                (
                    lambda case, rank: slow(case, not_over_rate=True),
                    "The way goes into the momentum as it is, and the step is multiplied by rate: that makes it too "
                    "short. What stands for a gradient is minus the way, divided by rate.",
                ),
                (
                    lambda case, rank: slow(case, part=1 / case.arguments[0][3]),
                    "The way is divided by the period: that is the mean gradient of a phase, and the step one of its "
                    "`period` steps. The sum of them is meant.",
                ),
                (
                    lambda case, rank: slow(case, part=case.arguments[0][6]),
                    "beta is on the new gradient, too. It says how much of the old momentum is kept.",
                ),
                (
                    lambda case, rank: slow(case, one_late=True),
                    "The weights move before this phase's gradient is in the momentum, so they are a phase late.",
                ),
                (
                    lambda case, rank: slow(case, part=1 - case.arguments[0][6]),
                    "That is a running mean, with 1 - beta times the new gradient. Here it is added as it is.",
                ),
                (lambda case, rank: slow(case, first=lambda step: 0), NUMBERED_AGAIN),
                (
                    lambda case, rank: slow(case, nesterov=True),
                    "That is Nesterov's form, as in DiLoCo: one momentum further. Asked for is the plain one.",
                ),
            ],
            otherwise="Try it with alpha = 1 and beta = 0: it must be local SGD, weight for weight. Then one phase "
            "with beta above 0, then two.",
        ),
        allreduces(lambda case: case.arguments[0][2]),
    ],
    endings={
        "UnboundLocalError": "The momentum is 0 before the first phase: it must be made before the loop.",
    },
    hints=[
        "One rank, x^2 / 2 with gradient x, one phase of one step with rate 0.1, from x = 1: local is 0.9, the way is "
        "-0.1. Where should x be after this phase with alpha = 1, beta = 0, and where does the code go?",
        "Three mistakes: a sign; a sum that should be a mean (Allreduce adds); and something that should live from "
        "phase to phase, and does not exist.",
        "u = zeros before the loop. In a phase u becomes beta u plus the gradient, -(mean way) / rate; then w moves "
        "by -alpha * rate * u.",
    ],
)


RATE = 0.125


class Slope:
    """gradient(w) of a bowl that is steeper further out."""

    def __init__(self, rng, d):
        self.curvature, self.minimum = rng.uniform(0.5, 1.5, d), rng.uniform(-0.5, 0.5, d)

    def __call__(self, w):
        return self.curvature * (w - self.minimum) + 0.2 * (w - self.minimum) ** 3

    def __repr__(self):
        return "gradient"


def late_updates(*rows):
    """Cases (d, reads, strength)."""

    def cases(rng):
        for d, reads, strength in rows:
            yield Case(
                f"d = {d}, reads {reads}, strength {strength}",
                ((rng.choice([-1, 1], d) * rng.uniform(0.7, 1.2, d), Slope(rng, d), reads, RATE, strength),),
            )

    return cases


def compensated(correct, fresh=False, lost=False):
    """The weights, if correct(g, lambda, moved, delay) is what is used of a gradient.

    fresh   the gradient is computed at the weights of now; lost: the update is made at the weights that were read
    """

    def weights(w, gradient, reads, rate, strength):
        history = [w.copy()]
        for t, read in enumerate(reads):
            g = gradient(history[t if fresh else read])
            used = correct(g, strength, history[t] - history[read], t - read)
            history.append(history[read if lost else t] - rate * used)
        return history[-1]

    return weights


def right(g, strength, moved, delay):
    return g + strength * g * g * moved


delay_compensated = Exercise(
    cases=late_updates(
        (5, [0, 0, 1, 1, 2, 4], 0.5),
        (4, [0, 0, 0, 0], 1.0),
        (6, [0, 1, 0, 2, 4, 3, 3], 0.25),
        (4, [0, 1, 2], 0.5),
        (4, [0, 0, 1], 0.0),
        (3, [], 0.5),
        (1500, [0] * 12, 0.5),
    ),
    checks=[
        checks.arrays(lambda case, rank: case.arguments[rank][0].shape),
        checks.kept("w"),
        Returns(
            compensated(right),
            slips=[
                (
                    compensated(lambda g, s, moved, delay: g / (1 + delay)),
                    "That is damping: a late gradient is trusted less, and its direction stays the old one. "
                    "Compensation asks how far the weights have moved meanwhile.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g),
                    "A late gradient is used as it is: what is done about the way that the weights have moved?",
                ),
                (
                    compensated(lambda g, s, moved, delay: g - s * g * g * moved),
                    "The way is counted from the wrong end: it leads from the weights that were read to those of now. "
                    "Where the gradient rises along it, the estimate is larger.",
                ),
                (
                    compensated(lambda g, s, moved, delay: (g + s * g * g * moved) / (1 + delay)),
                    "Compensated and damped. The rate is the same for all: once the gradient is an estimate for the "
                    "weights of now, there is no reason to trust it less.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g + s * (g @ g) * moved),
                    "g @ g is one number, the square of the length. The square of each element is meant.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g + s * g * (g @ moved)),
                    "That is the whole matrix of products g[i] g[j] times the way. Meant is its diagonal: each "
                    "element has to do with itself only.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g + s * moved),
                    "The Hessian's place is taken by lambda alone. The square of each element of the gradient is "
                    "missing.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g + s * g * moved),
                    "g is in it once only: the square of each element is meant, which is never negative.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g + s * np.abs(g) * moved),
                    "The magnitude is in the Hessian's place. The square of each element of the gradient is meant.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g + g * g * moved),
                    "Where is lambda? `strength` says how much of the square stands for the Hessian.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g + s * g * g * moved / RATE),
                    "The compensation and the rate: it belongs to the gradient, which is multiplied by rate once, with "
                    "the compensation in it. And the way is that of the weights, as it is.",
                ),
                (
                    compensated(lambda g, s, moved, delay: g, fresh=True),
                    "The gradient is the one at the weights of now. Nobody has that: estimate it. (Or is all of "
                    "history one array, changed in place?)",
                ),
                (
                    compensated(right, lost=True),
                    "The update is made at the weights that were read, so all updates since then are lost. To which "
                    "weights is it to be added?",
                ),
                (
                    compensated(lambda g, s, moved, delay: g + s * g * g * delay),
                    "How late it is does not say how far the weights have moved, nor where to.",
                ),
            ],
            otherwise="Write down Taylor's series for one element: g(w_now) is about g(w_read) + slope times (w_now - "
            "w_read). What stands for the slope here, and which of the two is history[t]?",
            same=alike,
            nearly=functools.partial(alike, close=CLOSE32),
            seen=first_wrong,
        ),
    ],
    endings={
        "IndexError": "history has the weights after 0, 1, ..., t updates when update t is made.",
    },
    hints=[
        "For one number w: the gradient was computed at w_read, and is used at w_now. If the gradient rises with "
        "slope h, what is it at w_now, to first order?",
        "The slope is estimated by strength * g * g, elementwise. w_now and w_read are both in history.",
        "The update is history[t] - rate * (g + strength * g * g * (history[t] - history[read])); nothing is divided.",
    ],
)
