"""Wrong answers to `rebuild`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

OWN = "own = np.zeros_like(blocks) if comm.rank == lost else blocks"

WRONG = [
    edit("takes_part", "It has to take part without changing anything", OWN, "own = blocks"),
    edit("added", "The blocks were added", ", op=mpi.BXOR", ", op=mpi.SUM"),
    edit(
        "on_every_rank",
        "Only the rank in place of the lost one needs it",
        "return whole",
        "return whole if comm.rank == lost else row",
    ),
    edit("in_place", "work on a copy", OWN, "own = blocks\nown *= comm.rank != lost"),
    whole(
        "tree",
        "The tree sends whole arrays",
        """
        def rebuild(comm, lost, blocks):
            own = np.zeros_like(blocks) if comm.rank == lost else blocks
            whole = np.empty_like(blocks)
            comm.Reduce(own, whole, op=mpi.BXOR, root=lost)
            return whole if comm.rank == lost else None
        """,
    ),
    whole(
        "everything_to_one",
        "All blocks went to the new rank",
        """
        def rebuild(comm, lost, blocks):
            every = np.empty((comm.size, *blocks.shape), np.uint8) if comm.rank == lost else None
            comm.Gather(blocks, every, root=lost)
            if comm.rank != lost:
                return None
            every[lost] = 0
            return np.bitwise_xor.reduce(every)
        """,
    ),
    whole(
        "everything_to_all",
        "Every rank gets all that was lost",
        """
        def rebuild(comm, lost, blocks):
            own = np.zeros_like(blocks) if comm.rank == lost else blocks.copy()
            comm.Allreduce(mpi.IN_PLACE, own, op=mpi.BXOR)
            return own if comm.rank == lost else None
        """,
    ),
    edit("one_row", "which elements belong there", "return whole", "return row if comm.rank == lost else None"),
    edit("parity_alone", "Return an array of P x n bytes", "return whole", "return None"),
]
