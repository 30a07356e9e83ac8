"""Wrong answers to `slow_momentum`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

WRONG = [
    shipped("It walks uphill"),
    edit(
        "a_phase_late",
        "so they are a phase late",
        *("u = beta * u - way / comm.size / rate", "w, u = w - alpha * rate * u, beta * u - way / comm.size / rate"),
        *("w = w - alpha * rate * u", ""),
    ),
    edit(
        "beta_on_both",
        "beta is on the new gradient, too",
        "beta * u - way / comm.size / rate",
        "beta * (u - way / comm.size / rate)",
    ),
    edit("made_in_the_loop", "must be made before the loop", "u = np.zeros_like(w)", ""),
    edit("mean_of_the_steps", "The way is divided by the period", "size / rate", "size / rate / period"),
    edit(
        "momentum_averaged_too",
        "The momentum is the same on all ranks already",
        "w = w - alpha * rate * u",
        "comm.Allreduce(mpi.IN_PLACE, u)\nw = w - alpha * rate * u / comm.size",
    ),
    edit(
        "nesterov",
        "That is Nesterov's form",
        "w = w - alpha * rate * u",
        "w = w - alpha * rate * (beta * u - way / comm.size / rate)",
    ),
    edit("never_communicates", "Nothing was sent", "comm.Allreduce(mpi.IN_PLACE, way)", "", "comm.size", "1"),
    edit("no_momentum", "There is no slow momentum", "= beta * u - way", "= -way"),
    edit("on_the_weights_themselves", "The caller still needs its w", "w.copy()", "w"),
    edit("rate_forgotten", "The momentum is one of gradients", "rate * u", "u"),
    edit("running_mean", "That is a running mean", "- way", "- (1 - beta) * way"),
    edit(
        "sends_the_momentum_along",
        "What is reduced is an array of d numbers",
        "comm.Allreduce(mpi.IN_PLACE, way)",
        "both = np.concatenate([way, u])\ncomm.Allreduce(mpi.IN_PLACE, both)\nway = both[: w.size]",
    ),
    edit(
        "steps_from_0_again", "sees the same samples again", "gradient(local, step)", "gradient(local, step % period)"
    ),
    edit("summed", "P times too far in each phase", "comm.size / rate", "rate"),
    edit("way_for_gradient", "that makes it too short", "comm.size / rate", "comm.size"),
    edit("momentum_as_well", "It should return one NumPy array", "return w", "return w, u"),
]
