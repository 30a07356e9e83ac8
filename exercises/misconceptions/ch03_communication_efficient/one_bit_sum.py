"""Wrong answers to `one_bit_sum`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

BITS = "2 * s * u < s + g"
UNPACKED = "np.unpackbits(table, axis=1, count=g.size)"
WRONG = [
    whole(
        "never_communicates",
        "an impostor of a sum",
        """
        def one_bit_sum(comm, g, u):
            s = np.abs(g).max()
            return np.where(2 * s * u < s + g, s, -s)
        """,
    ),
    edit("all_bits_of_the_bytes", "eight for each, also where", "row[4:], count=g.size", "row[4:]"),
    edit(
        "bits_one_by_one",
        "Messages between two ranks can do it",
        "comm.Allgather(bits, table)",
        """
        for other in range(comm.size):
            comm.Sendrecv(bits, dest=other, recvbuf=table[other], source=other)
        """,
        of="again",
    ),
    edit(
        "bytes_for_bits",
        "A byte for each bit",
        *(f"np.packbits({BITS})", f"np.uint8({BITS})", UNPACKED, "table"),
        of="again",
    ),
    edit(
        "dense",
        "it has two different numbers now",
        f"return np.where({BITS}, s, -s)",
        f"""
        table = np.empty((comm.size, g.size), np.float32)
        comm.Allgather(np.where({BITS}, s, -s), table)
        return table.sum(axis=0)
        """,
        of="never_communicates",
    ),
    edit(
        "each_broadcasts",
        "Allgather, once or twice, is enough",
        "comm.Allgather(wire, table)",
        """
        table[comm.rank] = wire
        for root, row in enumerate(table):
            comm.Bcast(row, root=root)
        """,
    ),
    edit(
        "euclidean_scale",
        "The scale is the length",
        "np.abs(g).max(keepdims=True)",
        "np.linalg.norm(g).reshape(1)",
        of="again",
    ),
    edit(
        "euclidean_levels",
        "The levels have another scale",
        "comm.Allgather(s, ",
        "comm.Allgather(np.linalg.norm(g).reshape(1), ",
        of="again",
    ),
    edit("into_u", "argument 2 on rank 0 was changed", "up = s * (2 * u - 1) < g", "u *= 2 * s\nup = u - s < g"),
    edit(
        "levels_reduced",
        "reduced they would be d whole numbers again",
        f"return np.where({BITS}, s, -s)",
        f"total = np.where({BITS}, s, -s)\ncomm.Allreduce(mpi.IN_PLACE, total)\nreturn total",
        of="never_communicates",
    ),
    edit("mean", "not the mean", ".sum(axis=0)", ".mean(axis=0)", of="again"),
    edit("mean_levels", "The levels have another scale", "(s, ", "(np.abs(g).mean(keepdims=True), ", of="again"),
    edit("mean_scale", "With the mean magnitude as scale", ".max(", ".mean(", of="again"),
    edit(
        "own_dice",
        "not with the signs that u decides for",
        "* u",
        "* np.random.default_rng(1).random(g.size)",
        of="again",
    ),
    edit("one_scale_for_all", "Which scale has each rank", "scales[:, None]", "scales.max()", of="again"),
    edit("own_part_first", "replicas that differ by a bit", "in table", "in np.roll(table, -comm.rank, axis=0)"),
    edit("own_scale", "which row of what has come belongs to them", "scales[:, None]", "s", of="again"),
    edit(
        "returns_early",
        "A collective must be called by every rank",
        "up = s * (2 * u - 1) < g",
        "if not s:\n    return 0 * g\nup = s * (2 * u - 1) < g",
    ),
    edit(
        "scale_of_8_bytes",
        "The scale travels in 8 bytes",
        *("keepdims=True)", "keepdims=True).astype(float)", "comm.size, np.float32)", "comm.size)"),
        *(".sum(axis=0)", ".sum(axis=0).astype(np.float32)"),
        of="again",
    ),
    edit(
        "scale_of_1_for_zeros",
        "Which scale has each rank",
        "np.abs(g).max(keepdims=True)",
        "np.abs(g).max(keepdims=True, initial=0 if g.any() else 1)",
        of="again",
    ),
    edit("sign_lost", "The sign of g is lost", "< s + g", "< s + np.abs(g)", of="again"),
    edit("sign_only", "nothing is drawn at random", BITS, "g >= 0", of="again"),
    edit(
        "textbook",
        "That is the formula that one reads",
        *("np.abs(g).max(keepdims=True)", "np.linalg.norm(g).reshape(1)"),
        *(BITS, "u < np.abs(g) / max(np.abs(g).sum(), 1e-30)"),
        of="again",
    ),
    edit(
        "unpacked_in_one_go",
        "the bits stand in the wrong places",
        UNPACKED,
        "np.unpackbits(table)[: comm.size * g.size].reshape(comm.size, -1)",
        of="again",
    ),
    edit("wrong_way_round", "The bits are the wrong way round", "u < s", "u >= s", of="again"),
    edit(
        "zero_for_minus",
        "It stands for -s",
        f"2 * {UNPACKED}.astype(np.float32) - 1",
        f"{UNPACKED}.astype(np.float32)",
        of="again",
    ),
    edit("largest_of_the_numbers", "The scale is the largest number", "np.abs(g).max(keep", "g.max(keep", of="again"),
    edit("twice_the_chance", "Which p makes", BITS, "s * u < g", of="again"),
    edit("wraps_around", "0 minus 1 is 255", ".astype(np.float32) - 1", " - np.uint8(1)", of="again"),
    edit("float64_total", "another element type than", "np.zeros_like(g)", "np.zeros(g.size)"),
    edit("rounded_scale", "a type of fewer digits", "s = np.abs(g).max()", "s = np.abs(g).max().round(3)"),
    edit("table_of_float64", "compare their dtypes", "wire.size), np.uint8)", "wire.size))"),
]
