"""The small problem: its gradient is the derivative of its loss."""

import numpy as np

from reference.recovery.problem import SmallNet


def test_the_gradient_is_the_derivative():
    problem, taken = SmallNet(samples=12, hidden=3), np.array([1, 5, 7])
    w = problem.start()
    gradient, loss = problem.gradient(w, taken)
    assert gradient.shape == (problem.n,) and loss > 0
    for i in range(problem.n):
        up, down = (w + np.eye(problem.n)[i] * h for h in (1e-6, -1e-6))
        numeric = (problem.gradient(up, taken)[1] - problem.gradient(down, taken)[1]) / 2e-6
        np.testing.assert_allclose(gradient[i], numeric, rtol=1e-6, atol=1e-8)


def test_of_no_samples_it_is_nothing():
    gradient, loss = SmallNet().gradient(SmallNet().start(), np.array([], int))
    assert not gradient.any() and loss == 0
