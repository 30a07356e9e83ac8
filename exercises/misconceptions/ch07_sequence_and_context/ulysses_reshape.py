"""Wrong answers to `ulysses_reshape`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, shipped, whole

WRONG = [
    shipped("A blank is not filled in yet"),
    edit(
        "tokens_alternate",
        "token 0 of each rank",
        "come.transpose(1, 0, 2, 3, 4).reshape(b, P * tokens",
        "come.transpose(1, 2, 0, 3, 4).reshape(b, P * tokens",
    ),
    edit(
        "heads_alternate",
        "head 0 of each rank",
        "come.transpose(1, 2, 0, 3, 4).reshape(b, tokens // P",
        "come.transpose(1, 2, 3, 0, 4).reshape(b, tokens // P",
    ),
    edit(
        "every_Pth_head",
        "belong on another rank",
        "x.reshape(b, tokens, P, heads // P, d).transpose(2, 0, 1, 3, 4)",
        "x.reshape(b, tokens, heads // P, P, d).transpose(3, 0, 1, 2, 4)",
    ),
    edit(
        "joined_in_front_of_the_batch",
        "read the numbers for transpose off",
        "come.transpose(1, 0, 2, 3, 4).reshape(b, P * tokens",
        "come.reshape(b, P * tokens",
    ),
    edit("asks_nobody", "cannot reshape", "if (tokens if back else heads) % P:", "if False:"),
    edit(
        "drops_the_rest",
        "alike: the result is None then",
        """
        if (tokens if back else heads) % P:
            return None
        """,
        """
        x = x[:, : tokens // P * P] if back else x[:, :, : heads // P * P]
        b, tokens, heads, d = x.shape
        """,
    ),
    edit(
        "another_shape",
        "Compare with the docstring",
        "reshape(b, P * tokens, heads // P, d)",
        "reshape(b * P, tokens, heads // P, d)",
    ),
    whole(
        "all_gather",
        "one Alltoall, and nothing besides",
        """
        def ulysses_reshape(comm, x, back):
            cut, join = (1, 2) if back else (2, 1)
            if x.shape[cut] % comm.size:
                return None
            every = np.empty((comm.size, *x.shape))
            comm.Allgather(np.ascontiguousarray(x), every)
            return np.ascontiguousarray(np.split(np.concatenate(list(every), axis=join), comm.size, axis=cut)[comm.rank])
        """,
    ),
]
