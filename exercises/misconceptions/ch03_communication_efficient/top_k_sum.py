"""Wrong answers to `top_k_sum`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

PACKED = "np.concatenate([p[indices], indices.view(np.float32)])"
WRONG = [
    whole(
        "never_communicates",
        "an impostor of a sum",
        """
        def top_k_sum(comm, g, e, k):
            p = g + e
            indices = np.argsort(np.abs(p))[-k:]
            total, error = np.zeros_like(p), p.copy()
            total[indices] = p[indices]
            error[indices] = 0
            return total, error
        """,
    ),
    edit("all_of_it", "would be sent again", "error[indices] = 0", ""),
    edit(
        "allreduce_of_zeros",
        "compressed on paper, and not on the wire",
        "return total, error",
        "comm.Allreduce(mpi.IN_PLACE, total)\nreturn total, error",
        of="never_communicates",
    ),
    edit(
        "concatenated",
        "what np.concatenate makes of float32 and integers",
        *("s.view(np.float32)", "s", "k), np.float32", "k)", "view(np.int32", "astype(int"),
    ),
    edit("converted_indices", "Indices that travelled as float32", "s.view", "s.astype", ".view(np.int32)]", "]"),
    edit(
        "dense_allgather",
        "The dense vector was sent",
        "return total, error",
        """
        table = np.empty((comm.size, p.size), np.float32)
        comm.Allgather(total, table)
        return table.sum(axis=0), error
        """,
        of="never_communicates",
    ),
    edit(
        "each_broadcasts",
        "Allgather, once or twice, is enough",
        f"comm.Allgather({PACKED}, table)",
        f"""
        table[comm.rank] = {PACKED}
        for root, row in enumerate(table):
            comm.Bcast(row, root=root)
        """,
    ),
    edit("error_first", "The order is (total, error)", "return total, error", "return error, total"),
    edit(
        "indices_one_by_one",
        "Messages between two ranks can do it",
        "comm.Allgather(indices, places)",
        """
        for other in range(comm.size):
            comm.Sendrecv(indices, dest=other, recvbuf=places[other], source=other)
        """,
        of="again",
    ),
    edit("into_e", "argument 2 on rank 0 was changed", "p = g + e", "p = e\np += g"),
    edit("largest_value", "-5 is more worth sending than 1", "np.abs(p)", "p"),
    edit("long_indices", "Somewhere 64 bits travel", ".astype(np.int32)", "", of="again"),
    edit("magnitudes_sent", "The magnitudes were sent", "p[indices],", "np.abs(p[indices]),"),
    edit("mean", "not the mean", "return total,", "return total / comm.size,"),
    edit("minus_the_mean", "The mean of all ranks was taken away", "error[indices] = 0", "error -= total / comm.size"),
    edit("minus_the_total", "The total of all ranks was taken away", "error[indices] = 0", "error -= total"),
    edit("never_fed_back", "the error is never fed back", "g + e", "g"),
    edit("no_error", "would be lost", "error[indices] = 0", "error[:] = 0"),
    edit("old_error_forgotten", "The old error is forgotten", "p.copy()", "g.copy()"),
    edit("old_error_kept", "That is the error as it was before", "return total, error", "return total, e.copy()"),
    edit("old_error_twice", "The old error is in it twice", "p.copy()", "p + e"),
    edit(
        "one_of_several",
        "np.add.at, adds all",
        "np.add.at(total, places, values)",
        "total[places] += values",
        of="again",
    ),
    edit("own_part", "alone. What has come from the others", "in table", "in table[[comm.rank]]"),
    edit("own_part_first", "replicas that differ by a bit", "in table", "in np.roll(table, -comm.rank, axis=0)"),
    edit(
        "pickled",
        "pickles its object",
        "total[indices] = p[indices]",
        """
        for values, places in comm.allgather((p[indices], indices)):
            total[places] += values
        """,
        of="never_communicates",
    ),
    edit(
        "sent_for_unsent",
        "That is what was sent",
        *("error = np.zeros_like(p), p.copy()", "error = np.zeros_like(p), 0 * p"),
        *("error[indices] = 0", "error[indices] = p[indices]"),
    ),
    edit("smallest", "The smallest were taken", "[-k:]", "[:k]"),
    edit("taken_away", "It is what is still owed", "g + e", "g - e"),
    edit("wrong_sign", "what was not sent is still to be added", "return total, error", "return total, -error"),
    edit(
        "indices_as_float32",
        "only even numbers are float32",
        *("indices.view(np.float32)", "indices.astype(np.float32)"),
        *("row[k:].view(np.int32)", "row[k:].astype(int)"),
    ),
    edit("float64_total", "sums of float32 with float64", "np.zeros_like(p), p.copy()", "np.zeros(p.size), p.copy()"),
    edit("float16", "a type of fewer digits", "[p[indices], ", "[np.float32(np.float16(p[indices])), "),
    edit("indices_of_16_bits", "16 bits hold", "indices.view(", "indices.astype(np.uint16).astype(np.int32).view("),
    edit("table_of_float64", "compare their dtypes", "2 * k), np.float32)", "2 * k))"),
]
