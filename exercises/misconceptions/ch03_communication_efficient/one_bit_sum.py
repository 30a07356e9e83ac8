"""Wrong answers to `one_bit_sum`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "all_bits_of_the_bytes",
        "eight for each, also where",
        """
        def one_bit_sum(comm, g, u):
            s = np.abs(g).max(keepdims=True)
            bits = np.packbits(u < (1 + g / np.maximum(s, 1e-30)) / 2)
            scales, table = np.empty(comm.size, np.float32), np.empty((comm.size, bits.size), np.uint8)
            comm.Allgather(s, scales)
            comm.Allgather(bits, table)
            total = np.zeros_like(g)
            for scale, row in zip(scales, table):
                total += scale * (2 * np.unpackbits(row).astype(np.float32) - 1)
            return total
        """,
    ),
    whole(
        "returns_early",
        "A collective must be called by every rank",
        """
        def one_bit_sum(comm, g, u):
            d = len(g)
            s = np.float32(np.abs(g).max())
            if s == 0:
                return np.zeros(d, np.float32)
            if s > 0:
                bits = u < (1 + g.astype(np.float64) / s) / 2
            else:
                bits = np.zeros(d, bool)
            msg = np.concatenate([np.array([s], np.float32).view(np.uint8), np.packbits(bits)])
            table = np.empty((comm.size, len(msg)), np.uint8)
            comm.Allgather(msg, table)
            total = np.zeros(d, np.float32)
            for row in table:
                sr = row[:4].copy().view(np.float32)[0]
                b = np.unpackbits(row[4:], count=d)
                total += np.where(b == 1, sr, -sr).astype(np.float32)
            return total
        """,
    ),
    edit(
        "bytes_for_bits",
        "A byte for each bit",
        "np.packbits(u < (1 + g / np.maximum(s, 1e-30)) / 2",
        "(u < (1 + g / np.maximum(s, 1e-30)) / 2).astype(np.uint8",
        "np.unpackbits(row)",
        "row",
        of="all_bits_of_the_bytes",
    ),
    whole(
        "dense",
        "it has two different numbers now",
        """
        def one_bit_sum(comm, g, u):
            s = np.abs(g).max()
            table = np.empty((comm.size, g.size), np.float32)
            comm.Allgather(np.where(2 * s * u < s + g, s, -s), table)
            return table.sum(axis=0)
        """,
    ),
    edit(
        "euclidean_scale",
        "The scale is the length",
        "abs(g).max(keepdims=True",
        "linalg.norm(g).reshape(1",
        "row)",
        "row, count=g.size)",
        of="all_bits_of_the_bytes",
    ),
    whole(
        "levels_reduced",
        "reduced they would be d whole numbers again",
        """
        def one_bit_sum(comm, g, u):
            s = np.abs(g).max() or np.float32(1)
            q = np.where(u < (1 + g / s) / 2, s, -s).astype(np.float32) * (g.any())
            comm.Allreduce(mpi.IN_PLACE, q)
            return q
        """,
    ),
    edit(
        "mean",
        "not the mean",
        """
        for scale, row in zip(scales, table):
            total += scale * (2 * np.unpackbits(row).astype(np.float32) - 1)
        return total
        """,
        """
        for scale, row in zip(scales, table):
            total += scale * (2 * np.unpackbits(row, count=g.size).astype(np.float32) - 1)
        return total / np.float32(comm.size)
        """,
        of="all_bits_of_the_bytes",
    ),
    edit("mean_scale", "no probability", ".max(", ".mean(", "row)", "row, count=g.size)", of="all_bits_of_the_bytes"),
    whole(
        "never_communicates",
        "an impostor of a sum",
        """
        def one_bit_sum(comm, g, u):
            s = np.abs(g).max()
            return np.where(2 * s * u < s + g, s, -s)
        """,
    ),
    edit(
        "own_dice",
        "not with the signs that u decides for",
        """
        if s == 0:
            return np.zeros(d, np.float32)
        """,
        "",
        "= u <",
        "= np.random.default_rng().uniform(0, 1, d) <",
        of="returns_early",
    ),
    edit(
        "own_scale",
        "which row of what has come belongs to them",
        """
        for scale, row in zip(scales, table):
            total += scale * (2 * np.unpackbits(row).astype(np.float32) - 1)
        """,
        """
        for row in table:
            total += s * (2 * np.unpackbits(row, count=g.size).astype(np.float32) - 1)
        """,
        of="all_bits_of_the_bytes",
    ),
    edit(
        "scale_of_8_bytes",
        "The scale travels in 8 bytes",
        "True)",
        "True).astype(float)",
        ", np.float32",
        "",
        "scale * (2 * np.unpackbits(row",
        "np.float32(scale) * (2 * np.unpackbits(row, count=g.size",
        of="all_bits_of_the_bytes",
    ),
    edit(
        "sign_lost",
        "The sign of g is lost",
        "+ g /",
        "+ np.abs(g) /",
        "row)",
        "row, count=g.size)",
        of="all_bits_of_the_bytes",
    ),
    edit(
        "sign_only",
        "nothing is drawn at random",
        "u < (1 + g / np.maximum(s, 1e-30)) / 2",
        "g >= 0",
        "row)",
        "row, count=g.size)",
        of="all_bits_of_the_bytes",
    ),
    edit(
        "textbook",
        "That is the formula that one reads",
        """
        s = np.abs(g).max(keepdims=True)
        bits = np.packbits(u < (1 + g / np.maximum(s, 1e-30)) / 2)
        """,
        """
        s = np.linalg.norm(g).reshape(1)
        bits = np.packbits(u < np.abs(g) / max(np.abs(g).sum(), 1e-30))
        """,
        "row)",
        "row, count=g.size)",
        of="all_bits_of_the_bytes",
    ),
    whole(
        "unpacked_in_one_go",
        "the bits stand in the wrong places",
        """
        def one_bit_sum(comm, g, u):
            d = len(g)
            s = np.abs(g).max()
            bits = np.packbits(u < (1 + g / (s or 1)) / 2)
            S = np.empty(comm.size, np.float32)
            B = np.empty((comm.size, len(bits)), np.uint8)
            comm.Allgather(np.array([s]), S)
            comm.Allgather(bits, B)
            B = np.unpackbits(B)[: comm.size * d].reshape(comm.size, d)
            return (S[:, None] * (2.0 * B - 1)).sum(0).astype(np.float32)
        """,
    ),
    edit(
        "wrong_way_round",
        "The bits are the wrong way round",
        "u < (",
        "u >= (",
        "row)",
        "row, count=g.size)",
        of="all_bits_of_the_bytes",
    ),
    edit(
        "zero_for_minus",
        "It stands for -s",
        "(2 * np.unpackbits(row).astype(np.float32) - 1",
        "np.unpackbits(row, count=g.size",
        of="all_bits_of_the_bytes",
    ),
]
