"""Wrong answers to `delay_compensated`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("That is damping"),
    whole(
        "damped_as_well",
        "Compensated and damped",
        """
        def delay_compensated(w, gradient, reads, rate, strength):
            history = [w]
            for t, read in enumerate(reads):
                g = gradient(history[read])
                moved = history[t] - history[read]
                history.append(history[t] - rate * (g + strength * g * g * moved) / (1 + t - read))
            return history[-1]
        """,
    ),
    edit(
        "beside_the_rate",
        "The compensation and the rate",
        "history.append(history[t] - rate * (g + strength * g * g * (history[t] - history[read])))",
        """
        c = strength * g * g * (history[t] - history[read])
        history.append(history[t] - rate * g - c)
        """,
    ),
    edit("by_the_delay", "does not say how far the weights have moved", "history[t] - history[read]", "t - read"),
    whole(
        "computed_again",
        "That is what nobody has",
        """
        def delay_compensated(w, gradient, reads, rate, strength):
            history = [w]
            for _ in reads:
                history.append(history[-1] - rate * gradient(history[-1]))
            return history[-1]
        """,
    ),
    edit(
        "lambda_alone",
        "The Hessian's place is taken by lambda alone",
        "g * g * moved) / (1 + t - read",
        "moved",
        of="damped_as_well",
    ),
    edit(
        "magnitude",
        "The magnitude is in the Hessian's place",
        "history.append(history[t] - rate * (g + strength * g * g * (history[t] - history[read])))",
        """
        g = g + strength * np.abs(g) * (history[t] - history[read])
        history.append(history[t] - rate * g)
        """,
    ),
    edit("not_squared", "g is in it once only", "g * moved) / (1 + t - read", "moved", of="damped_as_well"),
    whole(
        "nothing_done",
        "A late gradient is used as it is",
        """
        def delay_compensated(w, gradient, reads, rate, strength):
            history = [w]
            for t, read in enumerate(reads):
                history.append(history[t] - rate * gradient(history[read]))
            return history[-1]
        """,
    ),
    edit("one_number", "g @ g is one number", "g * g * moved) / (1 + t - read", "(g @ g) * moved", of="damped_as_well"),
    edit(
        "updates_what_was_read",
        "all updates since then are lost",
        "history.append(history[t] - rate * (g + strength * g * g * (history[t] - history[read])))",
        """
        g = g + strength * g * g * (history[t] - history[read])
        history.append(history[read] - rate * g)
        """,
    ),
    edit(
        "whole_matrix",
        "Meant is its diagonal",
        "g * g * moved) / (1 + t - read",
        "np.outer(g, g) @ moved",
        of="damped_as_well",
    ),
    edit(
        "without_lambda",
        "Where is lambda?",
        "history.append(history[t] - rate * (g + strength * g * g * (history[t] - history[read])))",
        """
        g = g + g * g * (history[t] - history[read])
        history.append(history[t] - rate * g)
        """,
    ),
    edit(
        "wrong_way",
        "counted from the wrong end",
        "+ strength * g * g * moved) / (1 + t - read",
        "- strength * g * g * moved",
        of="damped_as_well",
    ),
]
