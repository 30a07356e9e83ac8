"""Wrong answers to `local_sgd`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

MEETING = "(step + 1) % period == 0 or step + 1 == steps"
REDUCED = "comm.Allreduce(mpi.IN_PLACE, w)\nw /= comm.size"
WRONG = [
    edit("averaged_twice", "Averaged twice", "w /= comm.size", "w /= comm.size**2"),
    edit("every_step", "It synchronises in every step", f"if {MEETING}:", "if True:"),
    edit("forgets_the_last", "does not divide the steps", " or step + 1 == steps", ""),
    edit(
        "gradients_and_weights",
        "two kinds of SGD at once",
        "w -= rate * gradient(w, step)",
        """
        g = gradient(w, step)
        comm.Allreduce(mpi.IN_PLACE, g)
        w -= rate * g / comm.size
        """,
    ),
    whole(
        "gradients_averaged",
        "At which weights does each compute its gradient",
        """
        def local_sgd(comm, w, gradient, steps, period, rate):
            w = w.copy()
            for first in range(0, steps, period):
                total = sum(gradient(w, step) for step in range(first, min(first + period, steps)))
                comm.Allreduce(mpi.IN_PLACE, total)
                w -= rate * total / comm.size
            return w
        """,
    ),
    edit(
        "last_bits",
        "replicas that differ by a bit",
        REDUCED,
        "mean = np.empty_like(w)\ncomm.Allreduce(w, mean)\nw += mean / comm.size - w",
    ),
    edit("meets_once", "all meet after each of them", f"if {MEETING}", "if step == steps - 1"),
    edit("never_communicates", "each rank has trained a model of its own", f"if {MEETING}", "if comm.size < 1"),
    edit("on_w_itself", "The caller still needs it as it was", "w = w.copy()", ""),
    edit("one_more_at_the_start", "None is needed before the first step", "w = w.copy()", f"w = w.copy()\n{REDUCED}"),
    edit("rate_over_ranks", "The steps are P times too short", "rate * gradient", "rate / comm.size * gradient"),
    edit(
        "result_not_used",
        "Each rank returns its own weights",
        *("comm.Allreduce(mpi.IN_PLACE, w)", "comm.Allreduce(w, np.empty_like(w))", "w /= comm.size", ""),
    ),
    edit("returns_w_itself", "Return memory of its own", "return w.copy()", "return w", of="again"),
    edit(
        "sends_the_loss_along",
        "What is reduced is an array of d numbers",
        REDUCED,
        "both = np.append(w, step)\ncomm.Allreduce(mpi.IN_PLACE, both)\nw = both[:-1] / comm.size",
    ),
    edit("steps_from_0_again", "numbered from 0 again", "step)", "step % period)"),
    edit("steps_from_1", "the first gradient is that of step 0", "w, step)", "w, step + 1)"),
    edit("sum", "P times too long after each average", "w /= comm.size", ""),
    edit("too_early", "The averages come at the wrong steps", MEETING, "step % period == 0"),
    edit("uphill", "Uphill", "w -= rate", "w += rate"),
    edit(
        "in_two_halves",
        "Two calls for each average",
        REDUCED,
        "comm.Allreduce(mpi.IN_PLACE, w[:2])\ncomm.Allreduce(mpi.IN_PLACE, w[2:])\nw /= comm.size",
    ),
    edit("returns_nothing", "ends without `return`", "return w", "pass"),
]
