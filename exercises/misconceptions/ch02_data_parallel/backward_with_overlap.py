"""Wrong answers to `backward_with_overlap`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "never_waits",
        "wait: mpi.waitall(requests)",
        """
        def backward_with_overlap(comm, backward, buckets):
            ready, flats, requests = {}, [], []

            def hook(tensor, gradient):
                ready[tensor] = gradient
                for bucket in buckets:
                    if tensor == bucket[-1]:
                        flats.append(np.concatenate([ready[member] for member in bucket]))
                        requests.append(comm.Iallreduce(mpi.IN_PLACE, flats[-1]))

            backward(comm, hook)
            for bucket, flat in zip(buckets, flats):
                for tensor in bucket:
                    ready[tensor], flat = flat[: ready[tensor].size], flat[ready[tensor].size :]
            return [ready[tensor] for tensor in range(len(ready))]
        """,
    ),
    whole(
        "begins_after_the_backward_pass",
        "computing first, and all the sending after it",
        """
        def backward_with_overlap(comm, backward, buckets):
            ready = {}
            backward(comm, ready.__setitem__)
            flats = [np.concatenate([ready[tensor] for tensor in bucket]) for bucket in buckets]
            mpi.waitall([comm.Iallreduce(mpi.IN_PLACE, flat) for flat in flats])
            for bucket, flat in zip(buckets, flats):
                for tensor in bucket:
                    ready[tensor], flat = flat[: ready[tensor].size], flat[ready[tensor].size :]
            return [ready[tensor] for tensor in range(len(ready))]
        """,
    ),
    edit(
        "blocking_allreduce",
        "Allreduce returns when the sum is there",
        "flats, requests = {}, [],",
        "flats = {},",
        "requests.append(comm.Iallreduce(mpi.IN_PLACE, flats[-1])",
        "comm.Allreduce(mpi.IN_PLACE, flats[-1]",
        of="never_waits",
    ),
    edit(
        "cut_in_the_order_of_the_model",
        "are they those of another tensor of the bucket",
        "backward(comm, hook)",
        """
        backward(comm, hook)
        mpi.waitall(requests)
        """,
        "bucket:",
        "sorted(bucket):",
        of="never_waits",
    ),
    edit(
        "divides_by_the_ranks",
        "Asked for are sums over the ranks, not means",
        "backward(comm, hook)",
        """
        backward(comm, hook)
        mpi.waitall(requests)
        """,
        "size],",
        "size] / comm.size,",
        of="never_waits",
    ),
    edit(
        "everything_every_time",
        "and no others",
        "bucket]",
        "[*bucket, *ready]]",
        "backward(comm, hook)",
        """
        backward(comm, hook)
        mpi.waitall(requests)
        """,
        of="never_waits",
    ),
    edit(
        "never_communicates",
        "Nothing was sent, so each rank has its own gradients only",
        "flats, requests = {}, []",
        "flats = {}",
        "requests.append(comm.Iallreduce(mpi.IN_PLACE, flats[-1]))",
        "",
        of="never_waits",
    ),
    whole(
        "one_bucket_late",
        "begins later than it could",
        """
        def backward_with_overlap(comm, backward, buckets):
            ready, flats, requests = {}, [], []

            def post(bucket):
                flats.append(np.concatenate([ready[member] for member in bucket]))
                requests.append(comm.Iallreduce(mpi.IN_PLACE, flats[-1]))

            def hook(tensor, gradient):
                ready[tensor] = gradient
                for number, bucket in enumerate(buckets):
                    if number and tensor == bucket[0]:
                        post(buckets[number - 1])

            backward(comm, hook)
            post(buckets[-1])
            mpi.waitall(requests)
            for bucket, flat in zip(buckets, flats):
                for tensor in bucket:
                    ready[tensor], flat = flat[: ready[tensor].size], flat[ready[tensor].size :]
            return [ready[tensor] for tensor in range(len(ready))]
        """,
    ),
    whole(
        "one_for_each_tensor",
        "As many calls as there are tensors",
        """
        def backward_with_overlap(comm, backward, buckets):
            total, requests = {}, []

            def hook(tensor, gradient):
                total[tensor] = gradient
                requests.append(comm.Iallreduce(mpi.IN_PLACE, gradient))

            backward(comm, hook)
            mpi.waitall(requests)
            return [total[tensor] for tensor in range(len(total))]
        """,
    ),
    whole(
        "one_for_everything",
        "One for everything",
        """
        def backward_with_overlap(comm, backward, buckets):
            ready = {}
            backward(comm, ready.__setitem__)
            flat = np.concatenate([ready[tensor] for tensor in range(len(ready))])
            comm.Iallreduce(mpi.IN_PLACE, flat).Wait()
            ends = np.cumsum([ready[tensor].size for tensor in range(len(ready))])
            return np.split(flat, ends[:-1])
        """,
    ),
    edit(
        "waits_in_the_hook",
        "kept rank 0 for",
        "requests.append(comm.Iallreduce(mpi.IN_PLACE, flats[-1]))",
        """
        requests.append(comm.Iallreduce(mpi.IN_PLACE, flats[-1]))
        requests[-1].Wait()
        """,
        of="never_waits",
    ),
]
