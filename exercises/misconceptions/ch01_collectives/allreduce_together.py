"""Wrong answers to `allreduce_together`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

JOINED, EMPTY = "[np.empty(0), *map(np.ravel, arrays)]", "total = np.empty_like(flat)"
SUM = "comm.Allreduce(flat, total)"
PLACES = "np.cumsum([array.size for array in arrays], dtype=int)"
CUT = "[part.reshape(array.shape) for part, array in zip(np.split(total, ends), arrays)]"

WRONG = [
    edit(
        "arrays_for_one_rank", "Return memory of its own", f"return {CUT}", f"return {CUT} if comm.size > 1 else arrays"
    ),
    edit("cuts_at_the_sizes", "and are not the sizes", PLACES, "[array.size for array in arrays]"),
    edit("expects_a_result", "A call with a capital letter returns nothing", SUM, "total = comm.Allreduce(flat)"),
    edit("float32", "right to a few only", "(flat, total)", "(flat.astype(np.float32).astype(float), total)"),
    edit("forgets_the_last", "Where is the joined array cut", "total, ends)", "total, ends[:-1])[:-1]"),
    edit(
        "into_the_arguments",
        "The caller still needs its arrays",
        f"return {CUT}",
        """
        for part, array in zip(np.split(total, ends), arrays):
            array[...] = part.reshape(array.shape)
        return [array.copy() for array in arrays]
        """,
    ),
    edit("joins_without_flattening", "these arrays have different ones", JOINED, "arrays"),
    edit(
        "length_first", "agree on a length", EMPTY, f"{EMPTY}\ncomm.Allreduce(np.full(1, flat.size), np.empty(1, int))"
    ),
    edit("mean", "not the mean", "part.reshape", "(part / comm.size).reshape"),
    edit("no_call_for_no_arrays", "also if there is nothing to sum", EMPTY, f"if not arrays:\n    return []\n{EMPTY}"),
    edit(
        "nothing_for_no_arrays",
        "does not work for a list without arrays",
        JOINED,
        "[array.ravel() for array in arrays]",
    ),
    edit(
        "order_in_memory",
        "A transposed array lies differently in memory",
        "map(np.ravel, arrays)",
        "(array.ravel('K') for array in arrays)",
    ),
    edit("own_messages", "the library's own call is wanted", SUM, "total = ring_allreduce(comm, flat)"),
    edit(
        "own_reduce_and_bcast",
        "Each collective call pays its latency",
        SUM,
        "comm.Reduce(flat, total)\ncomm.Bcast(total)",
    ),
    edit(
        "sizes_for_places",
        "Where does it begin, where does it end",
        *(PLACES, "[array.size for array in arrays]", ".reshape(array.shape)", ""),
    ),
    edit(
        "sums_a_copy",
        "the sum went somewhere else",
        *(EMPTY, "total = flat.copy()", "(flat, total)", "(flat, total.copy())"),
    ),
    whole(
        "dummy_allreduce",
        "should come out of it",
        """
        def allreduce_together(comm, arrays):
            comm.Allreduce(np.zeros(0), np.empty(0))
            return [ring_allreduce(comm, array.ravel()).reshape(array.shape) for array in arrays]
        """,
    ),
    whole(
        "object_call",
        "pickles its object",
        """
        def allreduce_together(comm, arrays):
            return [sum(parts) for parts in zip(*comm.allgather(arrays))]
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
    edit(
        "sizes_first",
        "nobody need be asked for them",
        "for array, total in zip(arrays, sums):",
        "for array, total in zip(arrays, sums):\n    comm.Allreduce(np.full(1, float(array.size)), np.empty(1))",
        of="one_call_each",
    ),
    whole(
        "one_call_for_each_shape",
        "Some arrays together is a beginning",
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
    edit("table_of_all", "np.array makes tables", f"np.concatenate({JOINED})", "np.array(arrays)"),
]
