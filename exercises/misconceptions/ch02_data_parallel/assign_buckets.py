"""Wrong answers to `assign_buckets`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    edit("forgets_the_last", "is in no bucket", "return buckets", "return buckets[:-1]"),
    edit("empties_the_list", "The caller still needs", "room -= nbytes[tensor]", "room -= nbytes.pop()"),
    edit(
        "empty_bucket_before_a_large_tensor",
        "A bucket is empty",
        *("buckets, room = [], None", "buckets, room = [[]], first_limit", "not buckets or ", ""),
    ),
    whole(
        "first_that_has_room",
        "closed already, because there was room",
        """
        def assign_buckets(nbytes, limit, first_limit):
            buckets = []
            for tensor in reversed(range(len(nbytes))):
                for number, bucket in enumerate(buckets):
                    if sum(nbytes[i] for i in [*bucket, tensor]) <= (limit if number else first_limit):
                        bucket.append(tensor)
                        break
                else:
                    buckets.append([tensor])
            return buckets
        """,
    ),
]
