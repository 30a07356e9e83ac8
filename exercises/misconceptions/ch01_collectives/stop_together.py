"""Wrong answers to `stop_together`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

MEAN = "mean = np.empty(1)"
SUM = "comm.Allreduce(np.array([loss]), mean)"
DIVIDE = "mean /= comm.size"

WRONG = [
    shipped("must be made by all ranks or by none"),
    edit(
        "all_must_be_good",
        "every single loss is below the limit",
        *("total)", "total, op=mpi.MAX)", " / comm.size", ""),
        of="again",
    ),
    edit("at_the_limit", "a mean that equals it is not good enough", "mean <", "mean <="),
    edit(
        "barrier_before_leaving",
        "Different ranks are in different calls",
        SUM,
        f"""
        if loss < limit:
            comm.Barrier()
            return step
        {SUM}
        """,
    ),
    edit(
        "barrier_every_step",
        "A barrier does not help",
        SUM,
        f"""
        if loss < limit:
            return step
        comm.Barrier()
        {SUM}
        """,
    ),
    edit("float32", "did they go through float32", "[loss]", "[np.float32(loss)], dtype=float"),
    edit("forgets_the_end", "What if the loop comes to its end", "return len(losses)", ""),
    edit(
        "goes_on_to_the_end",
        "not all the same",
        *(MEAN, "mean, first = np.empty(1), len(losses)", "mean < limit", "loss < limit"),
        *("return step", "first = min(first, step)", "return len(losses)", "return first"),
    ),
    edit("lengths_first", "what is this call for", MEAN, f"{MEAN}\ncomm.allreduce(len(losses))"),
    edit("needless_barrier", "tells nobody anything", DIVIDE, f"{DIVIDE}\ncomm.Barrier()"),
    edit(
        "nobody_leaves",
        "nobody left the loop",
        *(MEAN, "mean, first = np.empty(1), None", "return step", "first = first or step"),
        *("return len(losses)", "return first or len(losses)"),
    ),
    edit("one_call_too_many", "none after the one that decides", "return step", f"{SUM}\nreturn step"),
    edit(
        "one_is_enough",
        "one rank's loss is below the limit",
        *("total)", "total, op=mpi.MIN)", " / comm.size", ""),
        of="again",
    ),
    edit(
        "padded",
        "nothing else need be sent after a step",
        SUM,
        "comm.Allreduce(np.append(loss, np.zeros(99)), both := np.empty(100))\nmean = both[:1]",
    ),
    edit("rank_0_decides", "Neither one rank nor a vote decides", SUM, "mean[:] = loss\ncomm.Bcast(mean)", DIVIDE, ""),
    edit(
        "running_mean",
        "a mean over the steps so far as well",
        *(MEAN, "mean, total = np.empty(1), 0.0", DIVIDE, "total += mean / comm.size", "mean <", "total / step <"),
    ),
    edit(
        "vote",
        "Neither one rank nor a vote decides",
        *("[loss]", "[float(loss >= limit)]", "mean < limit", "mean < 0.5"),
    ),
    edit("steps_from_0", "Steps are counted from 1", "losses, 1", "losses"),
    edit("sum_for_mean", "the sum is below the limit", DIVIDE, ""),
    edit(
        "tells_its_neighbour",
        "what is sent in one, and not in another",
        MEAN,
        f"{MEAN}\ncomm.Sendrecv(mean, (comm.rank + 1) % comm.size, recvbuf=np.empty(1), source=(comm.rank - 1) % comm.size)",
    ),
    edit("three_ranks", "divided by the same number", "comm.size", "3"),
    whole(
        "all_steps_at_once",
        "everybody has trained to the end",
        """
        def stop_together(comm, losses, limit):
            means = np.empty(len(losses))
            comm.Allreduce(np.array(losses, dtype=float), means)
            below = np.flatnonzero(means / comm.size < limit)
            return int(below[0]) + 1 if below.size else len(losses)
        """,
    ),
    edit(
        "two_numbers",
        "nothing else need be sent after a step",
        SUM,
        "comm.Allreduce(np.array([loss, step]), both := np.empty(2))\nmean = both[:1]",
    ),
    edit("whole_means", "what stands behind its point", "mean <", "mean // 1 <"),
]
