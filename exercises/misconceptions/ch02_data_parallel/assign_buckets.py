"""Wrong answers to `assign_buckets`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "reverses_the_list",
        "The caller still needs nbytes",
        """
        def assign_buckets(nbytes, limit, first_limit):
            nbytes.reverse()
            buckets, bucket, held, most = [], [], 0, first_limit
            for i, more in enumerate(nbytes):
                if bucket and held + more > most:
                    buckets.append(bucket)
                    bucket, held, most = [], 0, limit
                bucket.append(len(nbytes) - 1 - i)
                held += more
            return buckets + [bucket] * bool(bucket)
        """,
    ),
    whole(
        "small_limit_for_all",
        "That is for the first one only",
        """
        def assign_buckets(nbytes, limit, first_limit):
            buckets, held = [], 0
            for tensor in reversed(range(len(nbytes))):
                most = first_limit
                if not buckets or held + nbytes[tensor] > most:
                    buckets.append([])
                    held = 0
                buckets[-1].append(tensor)
                held += nbytes[tensor]
            return buckets
        """,
    ),
    edit(
        "closes_when_reached",
        "Some buckets hold more than their limit",
        """
        most = first_limit
        if not buckets or held + nbytes[tensor] > most:
        """,
        """
        most = limit if len(buckets) > 1 else first_limit
        if not buckets or held >= most:
        """,
        of="small_limit_for_all",
    ),
    edit(
        "counted_from_the_end",
        "counted from the end",
        "nbytes.reverse()",
        "",
        "(nbytes):",
        "(reversed(nbytes)):",
        "(len(nbytes) - 1 - i",
        "(i",
        of="reverses_the_list",
    ),
    edit(
        "empty_bucket_before_a_large_tensor",
        "A bucket is empty",
        "= [],",
        "= [[]],",
        """
        most = first_limit
        if not buckets or held + nbytes[tensor] > most:
        """,
        "if held + nbytes[tensor] > (limit if len(buckets) > 1 else first_limit):",
        "return buckets",
        "return [] if buckets == [[]] else buckets",
        of="small_limit_for_all",
    ),
    whole(
        "first_that_has_room",
        "do not stand in this order",
        """
        def assign_buckets(nbytes, limit, first_limit):
            buckets, room = [], []
            for i in range(len(nbytes))[::-1]:
                fits = [b for b, left in enumerate(room) if nbytes[i] <= left]
                if not fits:
                    room.append(limit if buckets else first_limit)
                    buckets.append([])
                b = fits[0] if fits else -1
                buckets[b].append(i)
                room[b] -= nbytes[i]
            return buckets
        """,
    ),
    whole(
        "forgets_the_last",
        "is in no bucket",
        """
        def assign_buckets(nbytes, limit, first_limit):
            buckets, bucket, held = [], [], 0
            for tensor in reversed(range(len(nbytes))):
                most = limit if buckets else first_limit
                if bucket and held + nbytes[tensor] > most:
                    buckets.append(bucket)
                    bucket, held = [], 0
                bucket.append(tensor)
                held += nbytes[tensor]
            return buckets
        """,
    ),
    edit(
        "from_the_first_tensor",
        "Those are the buckets from the first tensor on",
        """
        for tensor in reversed(range(len(nbytes))):
            most = first_limit
        """,
        """
        for tensor in range(len(nbytes)):
            most = limit if len(buckets) > 1 else first_limit
        """,
        of="small_limit_for_all",
    ),
    whole(
        "goes_on_with_the_larger_limit",
        "here others were put beside it",
        """
        def assign_buckets(nbytes, limit, first_limit):
            buckets, bucket, held, most = [], [], 0, first_limit
            for i in range(len(nbytes))[::-1]:
                if held + nbytes[i] > most:
                    if bucket:
                        buckets.append(bucket)
                    bucket, held, most = [], 0, limit
                bucket.append(i)
                held += nbytes[i]
            return buckets + [bucket] * bool(bucket)
        """,
    ),
    edit(
        "just_as_many_is_too_many",
        "A bucket may hold just as many bytes",
        """
        most = first_limit
        if not buckets or held + nbytes[tensor] > most:
        """,
        """
        most = limit if len(buckets) > 1 else first_limit
        if not buckets or held + nbytes[tensor] >= most:
        """,
        of="small_limit_for_all",
    ),
    whole(
        "one_each",
        "Each tensor has a bucket of its own",
        """
        def assign_buckets(nbytes, limit, first_limit):
            return [[tensor] for tensor in reversed(range(len(nbytes)))]
        """,
    ),
    whole(
        "one_for_all",
        "It is full when the backward pass is over",
        """
        def assign_buckets(nbytes, limit, first_limit):
            return [list(reversed(range(len(nbytes))))] if nbytes else []
        """,
    ),
    edit(
        "one_limit", "The first bucket was filled up to `limit`", "= first_limit", "= limit", of="small_limit_for_all"
    ),
    edit(
        "sorted_in_the_bucket",
        "each sorted the other way round",
        "= first_limit",
        "= limit if len(buckets) > 1 else first_limit",
        "return buckets",
        "return [sorted(bucket) for bucket in buckets]",
        of="small_limit_for_all",
    ),
]
