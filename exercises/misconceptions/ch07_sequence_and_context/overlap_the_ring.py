"""Wrong answers to `overlap_the_ring`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped

BEGIN = "requests = [comm.Irecv(coming, source=left), comm.Isend(held, dest=right)]"
COMPUTE, WAIT = "total += compute(comm, held)", "mpi.waitall(requests)"

WRONG = [
    shipped("all of the computing and all of the sending"),
    edit(
        "waits_before_computing",
        "all of the computing and all of the sending",
        f"{COMPUTE}\n{WAIT}",
        f"{WAIT}\n{COMPUTE}",
    ),
    edit("never_waits", "wait: mpi.waitall(requests)", WAIT, ""),
    edit("receives_into_what_it_sends", "its array belongs to MPI: wait first", BEGIN, BEGIN.replace("coming", "held")),
    edit("own_block_every_time", "The own block is computed with every time", COMPUTE, "total += compute(comm, block)"),
    edit(
        "own_block_missing", "the first to be computed with", COMPUTE, "total += compute(comm, held) if step else 0.0"
    ),
    edit(
        "last_block_missing",
        "The block that comes last is missing",
        COMPUTE,
        "total += compute(comm, held) if step < comm.size - 1 or step == 0 else 0.0",
    ),
    edit("sends_its_own", "Each block belongs into the sum once", "comm.Isend(held", "comm.Isend(block"),
    edit("one_step_too_many", "what nobody needs any more", "if step < comm.size - 1:", "if True:"),
    edit(
        "computes_twice",
        "Is compute called once for each block?",
        COMPUTE,
        f"compute(comm, held); compute(comm, held); compute(comm, held); {COMPUTE}",
    ),
    edit(
        "all_gather",
        "Allgather does the whole job",
        "for step in range(comm.size):",
        """
        every = np.empty((comm.size, block.size))
        comm.Allgather(block, every)
        return sum(compute(comm, each) for each in every)
        for step in range(comm.size):
        """,
    ),
    edit(
        "the_other_way",
        "Your ring turns the other way round",
        "right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size",
        "left, right = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size",
    ),
    edit(
        "sends_both",
        "Each message is one block, as long as the own one",
        BEGIN,
        """
        both = np.empty(2 * block.size)
        requests = [comm.Irecv(both, source=left), comm.Isend(np.concatenate([held, block]), dest=right)]
        """,
        "held = coming",
        "held = both[: block.size] if requests else held",
    ),
]
