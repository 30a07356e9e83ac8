"""Wrong answers to `group_of` that its checks do not know by themselves."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "tries_all_ranks",
        "A loop over all ranks of the mesh takes too long",
        """
        def group_of(axes, along, rank):
            def numbers(r):
                kept = []
                for name, size in reversed(axes):
                    if name not in along:
                        kept.append(r % size)
                    r //= size
                return kept

            own = numbers(rank)
            return [r for r in range(math.prod(size for _, size in axes)) if numbers(r) == own]
        """,
    ),
    edit(
        "first_alone",
        "Return a list of ranks, whole numbers",
        "return sorted(first + sum(offsets) for offsets in itertools.product(*steps))",
        "return first",
    ),
    edit(
        "stride_of_itself",
        "By how much does a rank grow if its number along an axis grows by one",
        """
        if name in along:
            first -= rank // stride % size * stride
            steps.append(range(0, size * stride, stride))
        stride *= size
        """,
        """
        before, stride = stride, stride * size
        if name in along:
            first -= rank // before % size * before
            steps.append(range(0, size * stride, stride))
        """,
    ),
]
