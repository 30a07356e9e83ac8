"""Takes out the raise and runs the rest as it is."""

import numpy as np

EARNS = "A blank is not filled in yet"


def error_feedback(gradients, k):
    sent, e = [], np.zeros_like(gradients[0])
    for g in gradients:  # noqa: B007
        p = ___  # noqa: F821
        largest = np.argsort(___)[-k:]  # noqa: F821
        c = np.zeros_like(p)
        c[largest] = p[largest]
        sent.append(c)
        e = ___  # noqa: F821
    return sent, e
