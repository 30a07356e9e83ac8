"""Wrong answers to `hierarchical_allreduce`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "flat_ring",
        "That is a flat ring over all ranks",
        """
        def reduce_scatter(comm, x):
            P, rank = comm.size, comm.rank
            blocks = np.array_split(x.copy(), P)
            for step in range(P - 1):
                growing = blocks[(rank - 2 - step) % P]
                arriving = np.empty_like(growing)
                comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
                growing += arriving
            return blocks[rank].copy()


        def allgather(comm, part, n):
            P, rank = comm.size, comm.rank
            whole = np.empty(n)
            blocks = np.array_split(whole, P)
            blocks[rank][:] = part
            for step in range(P - 1):
                comm.Sendrecv(blocks[rank - step], (rank + 1) % P, recvbuf=blocks[rank - step - 1], source=(rank - 1) % P)
            return whole


        def hierarchical_allreduce(comm, x, per_node):
            return allgather(comm, reduce_scatter(comm, x), x.size)
        """,
    ),
    edit(
        "adds_into_x",
        "who writes into one writes into x",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        part = np.array_split(x, per_node)[machine.rank]
        part[:] = reduce_scatter(machine, x)
        part = allgather(rail, reduce_scatter(rail, part), part.size)
        return allgather(machine, part, x.size)
        """,
        of="flat_ring",
    ),
    edit(
        "allgather_across",
        "That is an allgather",
        "def reduce_scatter(comm",
        "def ring_reduce_scatter(comm",
        "allgather(comm, part, n",
        "ring_allgather(comm, block, lengths",
        """
        whole = np.empty(n)
        blocks = np.array_split(whole, P)
        blocks[rank][:] = part
        """,
        """
        blocks = [np.empty(length) for length in lengths]
        blocks[rank][:] = block
        """,
        "return whole",
        "return np.concatenate(blocks)",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        lengths = [part.size for part in np.array_split(x, per_node)]
        part = ring_reduce_scatter(machine, x)
        everybody = ring_allgather(rail, part, [part.size] * rail.size)
        return ring_allgather(machine, everybody.reshape(rail.size, part.size).sum(axis=0), lengths)
        """,
        of="flat_ring",
    ),
    edit(
        "allreduce_inside_first",
        "too much is sent inside",
        "def reduce_scatter(comm",
        "def ring_reduce_scatter(comm",
        "allgather(comm, part, n",
        "ring_allgather(comm, block, lengths",
        """
        whole = np.empty(n)
        blocks = np.array_split(whole, P)
        blocks[rank][:] = part
        """,
        """
        blocks = [np.empty(length) for length in lengths]
        blocks[rank][:] = block
        """,
        "return whole",
        "return np.concatenate(blocks)",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        lengths = [part.size for part in np.array_split(x, per_node)]
        inside = ring_allgather(machine, ring_reduce_scatter(machine, x), lengths)
        part = np.array_split(inside, per_node)[machine.rank]
        across = [block.size for block in np.array_split(part, rail.size)]
        part = ring_allgather(rail, ring_reduce_scatter(rail, part), across)
        return ring_allgather(machine, part, lengths)
        """,
        of="flat_ring",
    ),
    edit(
        "drops_the_remainder",
        "look at where each block begins and ends",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        total = x.copy()
        n = x.size // per_node * per_node
        part = reduce_scatter(machine, x[:n])
        part = allgather(rail, reduce_scatter(rail, part), part.size)
        total[:n] = allgather(machine, part, n)
        return total
        """,
        of="flat_ring",
    ),
    edit(
        "everybody_in_one_group",
        "only those ranks may meet that hold the same part",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        n = -(-x.size // per_node)
        part = np.resize(reduce_scatter(machine, x), n)
        part = allgather(comm, reduce_scatter(comm, part), n)
        return allgather(machine, part[: np.array_split(x, per_node)[machine.rank].size], x.size)
        """,
        of="flat_ring",
    ),
    edit(
        "everything_across",
        "Every rank sent all of x across",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        total = allgather(machine, reduce_scatter(machine, x), x.size)
        return allgather(rail, reduce_scatter(rail, total), x.size)
        """,
        of="flat_ring",
    ),
    edit(
        "first_of_the_parts_adds",
        "every card is in use, but not evenly",
        "def reduce_scatter(comm",
        "def ring_reduce_scatter(comm",
        "allgather(comm, part, n",
        "ring_allgather(comm, block, lengths",
        """
        whole = np.empty(n)
        blocks = np.array_split(whole, P)
        blocks[rank][:] = part
        """,
        """
        blocks = [np.empty(length) for length in lengths]
        blocks[rank][:] = block
        """,
        "return whole",
        "return np.concatenate(blocks)",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        lengths = [part.size for part in np.array_split(x, per_node)]
        part = ring_reduce_scatter(machine, x)
        other = np.empty_like(part)
        if rail.rank > 0:
            rail.Send(part, dest=0)
            rail.Recv(part, source=0)
        else:
            for source in range(1, rail.size):
                rail.Recv(other, source=source)
                part += other
            for dest in range(1, rail.size):
                rail.Send(part, dest=dest)
        return ring_allgather(machine, part, lengths)
        """,
        of="flat_ring",
    ),
    edit(
        "forgets_the_allgather",
        "each rank has one part of it",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        part = reduce_scatter(machine, x)
        return allgather(rail, reduce_scatter(rail, part), part.size)
        """,
        of="flat_ring",
    ),
    edit(
        "key_and_color_exchanged",
        "Split takes the color first",
        "def reduce_scatter(comm",
        "def ring_reduce_scatter(comm",
        "allgather(comm, part, n",
        "ring_allgather(comm, block, lengths",
        """
        whole = np.empty(n)
        blocks = np.array_split(whole, P)
        blocks[rank][:] = part
        """,
        """
        blocks = [np.empty(length) for length in lengths]
        blocks[rank][:] = block
        """,
        "return whole",
        "return np.concatenate(blocks)",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank, comm.rank // per_node)
        rail = comm.Split(comm.rank, comm.rank % per_node)
        lengths = [part.size for part in np.array_split(x, per_node)]
        part = ring_reduce_scatter(machine, x)
        across = [block.size for block in np.array_split(part, rail.size)]
        part = ring_allgather(rail, ring_reduce_scatter(rail, part), across)
        return ring_allgather(machine, part, lengths)
        """,
        of="flat_ring",
    ),
    edit(
        "leaders_only",
        "Each rank should carry a part across",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        leaders = comm.Split(min(machine.rank, 1), comm.rank)
        total = x.copy()
        if machine.rank > 0:
            machine.Send(x, dest=0)
            machine.Recv(total, source=0)
            return total
        for source in range(1, machine.size):
            other = np.empty_like(x)
            machine.Recv(other, source=source)
            total += other
        total = allgather(leaders, reduce_scatter(leaders, total), x.size)
        for dest in range(1, machine.size):
            machine.Send(total, dest=dest)
        return total
        """,
        of="flat_ring",
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
    edit(
        "never_across",
        "Which phase brings the machines together",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        return allgather(machine, reduce_scatter(machine, x), x.size)
        """,
        of="flat_ring",
    ),
    edit(
        "no_sum_inside",
        "what should a rank know of the others in its machine",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        part = np.array_split(x, per_node)[machine.rank]
        part = allgather(rail, reduce_scatter(rail, part), part.size)
        return allgather(machine, part, x.size)
        """,
        of="flat_ring",
    ),
    edit(
        "one_rail_after_the_other",
        "something waits",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        part, nothing = reduce_scatter(machine, x), np.empty(0)
        if machine.rank > 0:
            machine.Recv(nothing, source=machine.rank - 1)
        part = allgather(rail, reduce_scatter(rail, part), part.size)
        if machine.rank < machine.size - 1:
            machine.Send(nothing, dest=machine.rank + 1)
        return allgather(machine, part, x.size)
        """,
        of="flat_ring",
    ),
    edit(
        "parts_in_the_wrong_order",
        "in which order are they joined",
        "return allgather(comm, reduce_scatter(comm, x), x.size)",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        part = reduce_scatter(machine, x)
        part = allgather(rail, reduce_scatter(rail, part), part.size)
        backwards = comm.Split(comm.rank // per_node, -comm.rank)
        return allgather(backwards, part, x.size)
        """,
        of="flat_ring",
    ),
]
