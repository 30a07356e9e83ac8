"""Wrong answers to `backward_with_overlap`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit

BEGIN = "requests.append(comm.Iallreduce(mpi.IN_PLACE, sums[-1]))"
RUN = "backward(comm, hook)"

WRONG = [
    edit("never_waits", "wait: mpi.waitall(requests)", "mpi.waitall(requests)", ""),
    edit("never_communicates", "Nothing was sent, so each rank has its own gradients only", BEGIN, ""),
    edit("blocking_allreduce", "until then nothing else is done", BEGIN, "comm.Allreduce(mpi.IN_PLACE, sums[-1])"),
    edit("waits_in_the_hook", "As long as a hook waits", BEGIN, "comm.Iallreduce(mpi.IN_PLACE, sums[-1]).Wait()"),
    edit(
        "divides_by_the_ranks",
        "Asked for are sums over the ranks, not means",
        "split(total,",
        "split(total / comm.size,",
    ),
    edit(
        "cut_in_the_order_of_the_model",
        "are they those of another tensor of the bucket",
        "zip(buckets, sums)",
        "zip(map(sorted, buckets), sums)",
    ),
    edit(
        "everything_every_time",
        "and no others",
        *("for member in bucket", "for member in [*bucket, *ready]", "ends[:-1]", "ends"),
    ),
    edit(
        "one_for_each_tensor",
        "As many calls as there are tensors",
        *("bucket = buckets[where[tensor]]", "bucket = [tensor]"),
        *("zip(buckets, sums)", "zip([[tensor] for tensor in ready], sums)"),
    ),
    edit(
        "one_for_everything",
        "One for everything",
        "ready, sums, requests = {}, [], []",
        """
        buckets, where = [[tensor for bucket in buckets for tensor in bucket]], [0] * len(where)
        ready, sums, requests = {}, [], []
        """,
    ),
    edit(
        "begins_after_the_backward_pass",
        "computing first, and all the sending after it",
        RUN,
        """
        backward(comm, ready.__setitem__)
        for bucket in buckets:
            hook(bucket[-1], ready[bucket[-1]])
        """,
    ),
    edit(
        "one_bucket_late",
        "begins later than it could",
        RUN,
        """
        late = []
        backward(comm, lambda *ready: [late.append(ready), len(late) > 1 and hook(*late.pop(0))])
        hook(*late.pop())
        """,
    ),
    edit(
        "waits_in_the_last_hook",
        "As long as a hook waits",
        BEGIN,
        f"""
        {BEGIN}
        if len(sums) == len(buckets):
            mpi.waitall(requests)
        """,
    ),
    edit(
        "a_number_beside",
        "and no others",
        *("[ready[member] for member in bucket]", "[*[ready[member] for member in bucket], [1.0]]"),
        *("ends[:-1]", "ends"),
    ),
    edit(
        "lowest_number_is_last",
        "Is every gradient of the bucket there already",
        "tensor == bucket[-1]",
        "tensor == min(bucket)",
    ),
    edit(
        "broadcasts_as_well",
        "Iallreduce alone does it",
        "mpi.waitall(requests)",
        """
        mpi.waitall(requests)
        comm.Bcast(sums[-1], root=0)
        """,
    ),
    edit(
        "a_message_beside",
        "Messages between two ranks can do it",
        "mpi.waitall(requests)",
        """
        mpi.waitall(requests)
        comm.Sendrecv(np.empty(0), dest=comm.rank, recvbuf=np.empty(0), source=comm.rank)
        """,
    ),
    edit("without_comm", "backward takes two arguments", "backward(comm, hook)", "backward(hook)"),
]
