"""Wrong answers to `hierarchical_allreduce`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

ACROSS = "ring_allreduce(rail, ring_reduce_scatter(machine, x))"
SCATTERED = "ring_reduce_scatter(machine, x)"
NOT_SUMMED = "np.array_split(x, per_node)[machine.rank]"
GATHERED = "ring_allgather(machine, part, [block.size for block in np.array_split(x, per_node)])"

WRONG = [
    edit(
        "adds_into_x",
        "who writes into one writes into x",
        f"part = {ACROSS}",
        f"part = {NOT_SUMMED}\npart[:] = {ACROSS}",
    ),
    edit(
        "allgather_across",
        "That is an allgather",
        f"part = {ACROSS}",
        f"""
        part = {SCATTERED}
        part = ring_allgather(rail, part, [part.size] * rail.size).reshape(rail.size, -1).sum(axis=0)
        """,
    ),
    edit(
        "allreduce_inside_first",
        "too much is sent inside",
        *(SCATTERED, "np.array_split(ring_allreduce(machine, x), per_node)[machine.rank]"),
    ),
    edit(
        "drops_the_remainder",
        "look at where each block begins and ends",
        *("machine, x)", "machine, x[: x.size // per_node * per_node])", f"return {GATHERED}"),
        """
        total = ring_allgather(machine, part, [x.size // per_node] * per_node)
        return np.append(total, x[total.size :])
        """,
    ),
    edit("everybody_in_one_group", "only those ranks may meet that hold the same part", "(rail,", "(comm,"),
    edit(
        "everything_across",
        "as if every rank sent all of x across",
        *(SCATTERED, "ring_allreduce(machine, x)", GATHERED, "part"),
    ),
    edit(
        "first_of_the_parts_adds",
        "every card is in use, but not evenly",
        f"part = {ACROSS}",
        f"""
        part = {SCATTERED}
        if rail.rank > 0:
            rail.Send(part, dest=0)
        else:
            other = np.empty_like(part)
            for source in range(1, rail.size):
                rail.Recv(other, source=source)
                part += other
        binomial_broadcast(rail, part, 0)
        """,
    ),
    edit("flat_ring", "That is a flat ring over all ranks", ACROSS, "ring_allreduce(comm, x)", GATHERED, "part"),
    edit("forgets_the_allgather", "each rank has one part of it", GATHERED, "part"),
    edit(
        "key_and_color_exchanged",
        "Split takes the color first",
        *("comm.rank // per_node, comm.rank", "comm.rank, comm.rank // per_node"),
        *("comm.rank % per_node, comm.rank", "comm.rank, comm.rank % per_node"),
    ),
    edit("never_across", "Which phase brings the machines together", ACROSS, SCATTERED),
    edit("no_sum_inside", "what should a rank know of the others in its machine", SCATTERED, NOT_SUMMED),
    edit(
        "one_rail_after_the_other",
        "something waits",
        f"part = {ACROSS}",
        f"""
        part, nothing = {SCATTERED}, np.empty(0)
        if machine.rank > 0:
            machine.Recv(nothing, source=machine.rank - 1)
        part = ring_allreduce(rail, part)
        if machine.rank < machine.size - 1:
            machine.Send(nothing, dest=machine.rank + 1)
        """,
    ),
    edit(
        "padded_across",
        "How much does a ring all-reduce of one part send",
        *(f"part = {ACROSS}", f"part = {SCATTERED}\npart = ring_allreduce(rail, np.append(part, 0))[:-1]"),
    ),
    edit(
        "parts_in_the_wrong_order",
        "in which order are they joined",
        *("ring_allgather(machine,", "ring_allgather(comm.Split(comm.rank // per_node, -comm.rank),"),
    ),
    whole(
        "leaders_only",
        "Each rank should carry a part across",
        """
        def hierarchical_allreduce(comm, x, per_node):
            machine = comm.Split(comm.rank // per_node, comm.rank)
            leaders = comm.Split(min(machine.rank, 1), comm.rank)
            total, other = x.copy(), np.empty_like(x)
            if machine.rank > 0:
                machine.Send(x, dest=0)
            else:
                for source in range(1, machine.size):
                    machine.Recv(other, source=source)
                    total += other
                total = ring_allreduce(leaders, total)
            binomial_broadcast(machine, total, 0)
            return total
        """,
    ),
    whole(
        "library_on_the_world",
        "Allreduce does the whole job",
        """
        def hierarchical_allreduce(comm, x, per_node):
            total = np.empty_like(x)
            comm.Allreduce(x, total)
            return total
        """,
    ),
]
