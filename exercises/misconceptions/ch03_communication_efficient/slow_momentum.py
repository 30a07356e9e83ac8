"""Wrong answers to `slow_momentum`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("It walks uphill"),
    edit(
        "a_phase_late",
        "so they are a phase late",
        "u = np.zeros_like(w)",
        "m = np.zeros_like(w)",
        """
        u = beta * u - way / comm.size / rate
        w = w - alpha * rate * u
        """,
        """
        way /= comm.size
        w = w - alpha * rate * m
        m = beta * m - way / rate
        """,
    ),
    edit(
        "beta_on_both",
        "beta is on the new gradient, too",
        "u = np.zeros_like(w)",
        "m = np.zeros_like(w)",
        """
        u = beta * u - way / comm.size / rate
        w = w - alpha * rate * u
        """,
        """
        way /= comm.size
        m = beta * (m - way / rate)
        w = w - alpha * rate * m
        """,
    ),
    edit("made_in_the_loop", "must be made before the loop", "u = np.zeros_like(w)", ""),
    edit(
        "mean_of_the_steps",
        "The way is divided by the period",
        "u = np.zeros_like(w)",
        "m = np.zeros_like(w)",
        """
        u = beta * u - way / comm.size / rate
        w = w - alpha * rate * u
        """,
        """
        way /= comm.size
        m = beta * m - way / rate / period
        w = w - alpha * rate * m
        """,
    ),
    edit(
        "momentum_averaged_too",
        "The momentum is the same on all ranks already",
        "u = beta * u - way / comm.size / rate",
        """
        u = beta * u - way / comm.size / rate
        comm.Allreduce(mpi.IN_PLACE, u)
        u /= comm.size
        """,
    ),
    edit(
        "nesterov",
        "That is Nesterov's form",
        """
        u = beta * u - way / comm.size / rate
        w = w - alpha * rate * u
        """,
        """
        p = -way / comm.size / rate
        u = beta * u + p
        w = w - alpha * rate * (p + beta * u)
        """,
    ),
    edit(
        "never_communicates",
        "Nothing was sent",
        """
        comm.Allreduce(mpi.IN_PLACE, way)
        u = beta * u - way / comm.size / rate
        """,
        "u = beta * u - way / rate",
    ),
    edit("no_momentum", "There is no slow momentum", "= beta * u - way", "= -way"),
    edit("rate_forgotten", "The momentum is one of gradients", "rate * u", "u"),
    edit("running_mean", "That is a running mean", "- way", "- (1 - beta) * way"),
    edit("summed", "P times too far in each phase", "comm.size / rate", "rate"),
    edit(
        "way_for_gradient",
        "that makes it too short",
        "u = np.zeros_like(w)",
        "m = np.zeros_like(w)",
        """
        u = beta * u - way / comm.size / rate
        w = w - alpha * rate * u
        """,
        """
        way /= comm.size
        m = beta * m - way
        w = w - alpha * rate * m
        """,
    ),
]
