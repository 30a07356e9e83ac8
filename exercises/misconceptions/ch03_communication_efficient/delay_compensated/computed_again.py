"""The gradient at the weights of now."""

EARNS = "That is what nobody has"


def delay_compensated(w, gradient, reads, rate, strength):
    history = [w]
    for _ in reads:
        history.append(history[-1] - rate * gradient(history[-1]))
    return history[-1]
