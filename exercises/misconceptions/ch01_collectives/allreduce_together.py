"""Wrong answers to `allreduce_together`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "dummy_allreduce",
        "should come out of it",
        """
        def by_messages(comm, x):
            total, other = x.copy(), np.empty_like(x)
            for step in range(1, comm.size):
                comm.Sendrecv(x, (comm.rank + step) % comm.size, recvbuf=other, source=(comm.rank - step) % comm.size)
                total += other
            return total


        def allreduce_together(comm, arrays):
            comm.Allreduce(np.zeros(0), np.empty(0))
            return [by_messages(comm, array.ravel()).reshape(array.shape) for array in arrays]
        """,
    ),
    whole(
        "joins_without_flattening",
        "these arrays have different ones",
        """
        def allreduce_together(comm, arrays):
            flat = np.concatenate(arrays)
            total = np.empty_like(flat)
            comm.Allreduce(flat, total)
            return np.split(total, len(arrays))
        """,
    ),
    whole(
        "order_in_memory",
        "A transposed array lies differently in memory",
        """
        def allreduce_together(comm, arrays):
            flat = np.concatenate([np.empty(0), *(array.ravel(order="K") for array in arrays)])
            total = np.empty_like(flat)
            comm.Allreduce(flat, total)
            cuts = np.cumsum([array.size for array in arrays], dtype=int)
            return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
        """,
    ),
    edit(
        "arrays_for_one_rank",
        "Return memory of its own",
        '(array.ravel(order="K") for array in',
        "map(np.ravel,",
        "comm.Allreduce(flat, total)",
        """
        comm.Allreduce(flat, total)
        if comm.size == 1:
            return arrays
        """,
        of="order_in_memory",
    ),
    whole(
        "cuts_at_the_sizes",
        "and are not the sizes",
        """
        def allreduce_together(comm, arrays):
            flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
            total = np.empty_like(flat)
            comm.Allreduce(flat, total)
            parts = np.split(total, [array.size for array in arrays])
            return [part.reshape(array.shape) for part, array in zip(parts, arrays)]
        """,
    ),
    whole(
        "expects_a_result",
        "A call with a capital letter returns nothing",
        """
        def allreduce_together(comm, arrays):
            flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
            total = comm.Allreduce(flat)
            cuts = np.cumsum([array.size for array in arrays], dtype=int)
            return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
        """,
    ),
    whole(
        "forgets_the_last",
        "Where is the joined array cut",
        """
        def allreduce_together(comm, arrays):
            flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
            total = np.empty_like(flat)
            comm.Allreduce(flat, total)
            cuts = np.cumsum([array.size for array in arrays], dtype=int)[:-1]
            return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts)[:-1], arrays)]
        """,
    ),
    whole(
        "into_the_arguments",
        "The caller still needs its arrays",
        """
        def allreduce_together(comm, arrays):
            flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
            total = np.empty_like(flat)
            comm.Allreduce(flat, total)
            begin = 0
            for array in arrays:
                array[...] = total[begin : begin + array.size].reshape(array.shape)
                begin += array.size
            return [array.copy() for array in arrays]
        """,
    ),
    edit(
        "length_first",
        "agree on a length",
        'flat = np.concatenate([np.empty(0), *(array.ravel(order="K") for array in arrays)])',
        """
        flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
        length = np.array([float(flat.size)])
        comm.Allreduce(np.array([float(flat.size)]), length)
        """,
        of="order_in_memory",
    ),
    edit(
        "mean",
        "not the mean",
        '(array.ravel(order="K") for array in',
        "map(np.ravel,",
        "comm.Allreduce(flat, total)",
        """
        comm.Allreduce(flat, total)
        total /= comm.size
        """,
        of="order_in_memory",
    ),
    edit(
        "no_call_for_no_arrays",
        "also if there is nothing to sum",
        'flat = np.concatenate([np.empty(0), *(array.ravel(order="K") for array in arrays)])',
        """
        if not arrays:
            return []
        flat = np.concatenate([array.ravel() for array in arrays])
        """,
        ", dtype=int",
        "",
        of="order_in_memory",
    ),
    edit(
        "nothing_for_no_arrays",
        "does not work for a list without arrays",
        'np.empty(0), *(array.ravel(order="K") for array in arrays)',
        "array.ravel() for array in arrays",
        ", dtype=int",
        "",
        of="order_in_memory",
    ),
    whole(
        "object_call",
        "pickles its object",
        """
        def allreduce_together(comm, arrays):
            everybody = comm.allgather(arrays)
            return [sum(parts) for parts in zip(*everybody)]
        """,
    ),
    whole(
        "one_call_each",
        "One latency for each array",
        """
        def allreduce_together(comm, arrays):
            sums = [np.empty(array.shape) for array in arrays]
            for array, total in zip(arrays, sums):
                comm.Allreduce(np.ascontiguousarray(array), total)
            return sums
        """,
    ),
    whole(
        "one_call_for_each_shape",
        "Arrays of one shape together is a beginning",
        """
        def allreduce_together(comm, arrays):
            sums = [None] * len(arrays)
            for shape in {array.shape for array in arrays}:
                places = [place for place, array in enumerate(arrays) if array.shape == shape]
                stack = np.stack([arrays[place] for place in places])
                total = np.empty_like(stack)
                comm.Allreduce(stack, total)
                for place, part in zip(places, total):
                    sums[place] = part
            return sums
        """,
    ),
    edit(
        "own_messages",
        "the library's own call is wanted",
        """
        comm.Allreduce(np.zeros(0), np.empty(0))
        return [by_messages(comm, array.ravel()).reshape(array.shape) for array in arrays]
        """,
        """
        flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
        total = by_messages(comm, flat)
        cuts = np.cumsum([array.size for array in arrays], dtype=int)
        return [part.reshape(array.shape) for part, array in zip(np.split(total, cuts), arrays)]
        """,
        of="dummy_allreduce",
    ),
    edit(
        "own_reduce_and_bcast",
        "Each collective call pays its latency",
        '(array.ravel(order="K") for array in',
        "map(np.ravel,",
        "comm.Allreduce(flat, total)",
        """
        comm.Reduce(flat, total)
        comm.Bcast(total)
        """,
        of="order_in_memory",
    ),
    whole(
        "padded_table",
        "no element of an array",
        """
        def allreduce_together(comm, arrays):
            longest = max((array.size for array in arrays), default=0)
            table = np.zeros((len(arrays), longest))
            for line, array in zip(table, arrays):
                line[: array.size] = array.ravel()
            total = np.empty_like(table)
            comm.Allreduce(table, total)
            return [line[: array.size].reshape(array.shape) for line, array in zip(total, arrays)]
        """,
    ),
    edit(
        "sizes_for_places",
        "Where does it begin, where does it end",
        "concatenate(arrays)",
        "concatenate([np.empty(0), *map(np.ravel, arrays)])",
        "len(arrays))",
        "[array.size for array in arrays])[: len(arrays)]",
        of="joins_without_flattening",
    ),
    whole(
        "sums_a_copy",
        "the sum went somewhere else",
        """
        from reference import mpi


        def allreduce_together(comm, arrays):
            sums = [array.copy() for array in arrays]
            comm.Allreduce(mpi.IN_PLACE, np.concatenate([np.empty(0), *map(np.ravel, sums)]))
            return sums
        """,
    ),
]
