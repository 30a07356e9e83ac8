"""Wrong answers to `top_k_sum`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "concatenated",
        "what np.concatenate makes of float32 and integers",
        """
        def top_k_sum(comm, g, e, k):
            p = g + e
            idx = np.argsort(np.abs(p))[-k:].astype(np.int32)
            msg = np.concatenate([p[idx], idx])
            table = np.empty((comm.size, 2 * k))
            comm.Allgather(msg, table)
            total = np.zeros_like(p)
            for row in table:
                total[row[k:].astype(int)] += row[:k].astype(np.float32)
            error = p.copy()
            error[idx] = 0
            return total, error
        """,
    ),
    whole(
        "minus_the_total",
        "The total of all ranks was taken away",
        """
        def top_k_sum(comm, g, e, k):
            p = g + e
            indices = np.argsort(np.abs(p))[-k:].astype(np.int32)
            all_values, all_indices = np.empty((comm.size, k), np.float32), np.empty((comm.size, k), np.int32)
            comm.Allgather(p[indices], all_values)
            comm.Allgather(indices, all_indices)
            total = np.zeros_like(p)
            for values, places in zip(all_values, all_indices):
                total[places] += values
            error = p - total
            return total, error
        """,
    ),
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
    edit("all_of_it", "would be sent again", "p - total", "p.copy()", of="minus_the_total"),
    edit(
        "allreduce_of_zeros",
        "compressed on paper, and not on the wire",
        "error[indices] = 0",
        """
        error[indices] = 0
        comm.Allreduce(mpi.IN_PLACE, total)
        """,
        of="never_communicates",
    ),
    whole(
        "converted_indices",
        "Indices that travelled as float32",
        """
        def top_k_sum(comm, g, e, k):
            p = g + e
            indices = np.argsort(np.abs(p))[-k:]
            table = np.empty((comm.size, 2 * k), np.float32)
            comm.Allgather(np.concatenate([p[indices], indices.astype(np.float32)]), table)
            total, error = np.zeros_like(p), p.copy()
            for row in table:
                total[row[k:]] += row[:k]
            error[indices] = 0
            return total, error
        """,
    ),
    whole(
        "dense_allgather",
        "The dense vector was sent",
        """
        def top_k_sum(comm, g, e, k):
            p = g + e
            indices = np.argsort(np.abs(p))[-k:]
            sent, error = np.zeros_like(p), p.copy()
            sent[indices] = p[indices]
            error[indices] = 0
            table = np.empty((comm.size, p.size), np.float32)
            comm.Allgather(sent, table)
            return table.sum(axis=0), error
        """,
    ),
    edit(
        "error_first",
        "The order is (total, error)",
        """
        error = p - total
        return total, error
        """,
        """
        error = p.copy()
        error[indices] = 0
        return error, total
        """,
        of="minus_the_total",
    ),
    edit(
        "largest_value",
        "-5 is more worth sending than 1",
        "np.abs(p)",
        "p",
        "error = p - total",
        """
        error = p.copy()
        error[indices] = 0
        """,
        of="minus_the_total",
    ),
    whole(
        "long_indices",
        "Somewhere 64 bits travel",
        """
        def top_k_sum(comm, g, e, k):
            p = g + e
            indices = np.argsort(np.abs(p))[-k:]
            all_values, all_indices = np.empty((comm.size, k), np.float32), np.empty((comm.size, k), np.int64)
            comm.Allgather(p[indices], all_values)
            comm.Allgather(indices, all_indices)
            total = np.zeros_like(p)
            for values, places in zip(all_values, all_indices):
                total[places] += values
            error = p.copy()
            error[indices] = 0
            return total, error
        """,
    ),
    edit(
        "magnitudes_sent",
        "The magnitudes were sent",
        """
        msg = np.concatenate([p[idx], idx])
        table = np.empty((comm.size, 2 * k))
        """,
        """
        msg = np.concatenate([np.abs(p)[idx], idx.view(np.float32)])
        table = np.empty((comm.size, 2 * k), np.float32)
        """,
        "astype(int)] += row[:k].astype(np.float32)",
        "view(np.int32)] += row[:k]",
        of="concatenated",
    ),
    edit(
        "mean",
        "not the mean",
        "error = p - total",
        """
        total /= comm.size
        error = p.copy()
        error[indices] = 0
        """,
        of="minus_the_total",
    ),
    edit(
        "never_fed_back",
        "the error is never fed back",
        "g + e",
        "g",
        "error = p - total",
        """
        error = g + e
        error[indices] = 0
        """,
        of="minus_the_total",
    ),
    edit("no_error", "would be lost", "p - total", "np.zeros_like(p)", of="minus_the_total"),
    edit(
        "old_error_forgotten",
        "The old error is forgotten",
        "error = p - total",
        """
        error = g.copy()
        error[indices] -= p[indices]
        """,
        of="minus_the_total",
    ),
    edit(
        "old_error_twice",
        "The old error is in it twice",
        "error = p - total",
        """
        error = p + e
        error[indices] -= p[indices]
        """,
        of="minus_the_total",
    ),
    edit(
        "one_of_several",
        "np.add.at, adds all",
        """
        for values, places in zip(all_values, all_indices):
            total[places] += values
        error = p - total
        """,
        """
        total[all_indices.ravel()] += all_values.ravel()
        error = p.copy()
        error[indices] = 0
        """,
        of="minus_the_total",
    ),
    edit(
        "own_part",
        "alone. What has come from the others",
        "zip(all_values, all_indices)",
        "[(p[indices], indices)]",
        "error = p - total",
        """
        error = p.copy()
        error[indices] = 0
        """,
        of="minus_the_total",
    ),
    edit(
        "own_part_first",
        "replicas that differ by a bit drift apart",
        """
        for values, places in zip(all_values, all_indices):
            total[places] += values
        error = p - total
        """,
        """
        for step in range(comm.size):
            rank = (comm.rank + step) % comm.size
            total[all_indices[rank]] += all_values[rank]
        error = p.copy()
        error[indices] = 0
        """,
        of="minus_the_total",
    ),
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
]
