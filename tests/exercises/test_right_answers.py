"""Right answers of other kinds than the two solutions. A grader must accept them: there is more than one way."""

from textwrap import dedent, indent

import pytest

from exercises.grading.grade import SOLVED, grade

from .test_graders import EXERCISES, SEED

HEADER = "import math\nfrom fractions import Fraction\n\nimport numpy as np\n\nfrom reference import mpi\n"
RIGHT = {  # (exercise, in which way): (arguments, body)
    ("ring_allreduce", "nonblocking, the ring begun elsewhere"): (
        "comm, x",
        """
        P, rank = comm.size, comm.rank
        total = x.copy()
        blocks = np.array_split(total, P)
        for step in range(2 * (P - 1)):
            leaving, here = blocks[(rank - step + 5) % P], blocks[(rank - step + 4) % P]
            arriving = np.empty_like(here)
            mpi.waitall([comm.Isend(leaving, (rank + 1) % P), comm.Irecv(arriving, (rank - 1) % P)])
            here[:] = arriving + here if step < P - 1 else arriving
        return total
        """,
    ),
    ("binomial_broadcast", "the farthest first, and the result returned as well"): (
        "comm, x, root",
        """
        P = comm.size
        me, mask = (comm.rank - root) % P, 1
        while mask < P and not me & mask:
            mask *= 2
        if me:
            comm.Recv(x, source=(me - mask + root) % P)
        while mask > 1:
            mask //= 2
            if me + mask < P:
                comm.Send(x, dest=(me + mask + root) % P)
        return x
        """,
    ),
    ("recursive_doubling", "guests in the reverse order"): (
        "comm, x",
        """
        P, rank = comm.size, comm.rank
        core = 1 << (P.bit_length() - 1)
        total, other, partner = x + 0, np.empty_like(x), P - 1 - rank
        if rank >= core:
            comm.Send(x, dest=partner)
            comm.Recv(total, source=partner)
            return total
        guest = core <= partner < P
        if guest:
            comm.Recv(other, source=partner)
            total = total + other
        for k in range(core.bit_length() - 1):
            comm.Sendrecv(total, rank ^ 1 << k, recvbuf=other, source=rank ^ 1 << k)
            total = other + total if rank >> k & 1 else total + other
        if guest:
            comm.Send(total, dest=partner)
        return total
        """,
    ),
    ("pairwise_alltoall", "leftwards, a step at a time, and to itself as well"): (
        "comm, x",
        """
        P, rank, result = comm.size, comm.rank, np.empty_like(x)
        for step in range(P):
            dest, source = (rank - step) % P, (rank + step) % P
            mpi.waitall([comm.Irecv(result[source], source=source), comm.Isend(x[dest], dest=dest)])
        return result
        """,
    ),
    ("shift_right", "even ranks send first"): (
        "comm, block",
        """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        if comm.size == 1:
            return block.copy()
        arriving = np.empty_like(block)
        if comm.rank % 2 == 0:
            comm.Send(block, dest=right)
        comm.Recv(arriving, source=left)
        if comm.rank % 2 == 1:
            comm.Send(block, dest=right)
        return arriving
        """,
    ),
    ("shift_right", "odd ranks send first, and to oneself nothing is sent"): (
        "comm, block",
        """
        right, left = (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        arriving = block.copy()
        if comm.rank % 2:
            comm.Send(block, dest=right)
            comm.Recv(arriving, source=left)
        elif comm.size > 1:
            comm.Recv(arriving, source=left)
            comm.Send(block, dest=right)
        return arriving
        """,
    ),
    ("shift_right", "in three turns"): (
        "comm, block",
        """
        rank, right, left = comm.rank, (comm.rank + 1) % comm.size, (comm.rank - 1) % comm.size
        if comm.size == 1:
            return block.copy()
        arriving = np.empty_like(block)
        for turn in range(3):
            if rank % 3 == turn:
                comm.Send(block, dest=right)
            if left % 3 == turn:
                comm.Recv(arriving, source=left)
        return arriving
        """,
    ),
    ("shift_right", "the receive first, without waiting"): (
        "comm, block",
        """
        arriving = np.empty_like(block)
        request = comm.Irecv(arriving, source=(comm.rank - 1) % comm.size)
        comm.Send(block, dest=(comm.rank + 1) % comm.size)
        request.Wait()
        return arriving
        """,
    ),
    ("stop_together", "a Python number"): (
        "comm, losses, limit",
        """
        for step, loss in enumerate(losses, 1):
            if comm.allreduce(loss) / comm.size < limit:
                return step
        return len(losses)
        """,
    ),
    ("stop_together", "rank 0 decides on the mean and tells the others"): (
        "comm, losses, limit",
        """
        for step, loss in enumerate(losses, 1):
            total = np.zeros(1)
            comm.Reduce(np.array([loss]), total, root=0)
            stop = np.array([total[0] / comm.size < limit], dtype=int)
            comm.Bcast(stop, root=0)
            if stop[0]:
                return step
        return len(losses)
        """,
    ),
    ("stop_together", "all gather all losses, and count with a while"): (
        "comm, losses, limit",
        """
        step, everybody = 0, np.full(comm.size, np.inf)
        while step < len(losses) and everybody.mean() >= limit:
            comm.Allgather(np.array([losses[step]]), everybody)
            step += 1
        return step
        """,
    ),
    ("sum_of_my_row", "gathered on the row and added up"): (
        "comm, x, width",
        """
        row = comm.Split(color=comm.rank // width)
        table = np.empty((row.size, x.size))
        row.Allgather(x, table)
        return table.sum(axis=0)
        """,
    ),
    ("sum_of_my_row", "reduced to the last of the row, who tells the others"): (
        "comm, x, width",
        """
        row = comm.Split(comm.rank // width)
        total = np.empty_like(x)
        row.Reduce(x, total, root=row.size - 1)
        row.Bcast(total, root=row.size - 1)
        return total
        """,
    ),
    ("allreduce_together", "in place, sizes from the shapes"): (
        "comm, arrays",
        """
        both = [number for array in arrays for number in array.flat]
        total = np.array(both, dtype=float)
        comm.Allreduce(mpi.IN_PLACE, total)
        numbers, results = iter(total), []
        for array in arrays:
            results.append(np.array([next(numbers) for _ in range(array.size)]).reshape(array.shape))
        return results
        """,
    ),
    ("hierarchical_allreduce", "straight to the owner of each part in all four phases"): (
        "comm, x, per_node",
        """
        def scatter(group, x):
            parts = np.array_split(x, group.size)
            arriving = [np.empty(parts[group.rank].size) for _ in range(group.size - 1)]
            ways = range(1, group.size)
            requests = [comm.Irecv(a, group[-w]) for w, a in zip(ways, arriving)]
            mpi.waitall(requests + [comm.Isend(parts[(group.rank + w) % group.size], group[w]) for w in ways])
            return sum(arriving, parts[group.rank].copy())

        def gather(group, part, n):
            whole = np.empty(n)
            parts = np.array_split(whole, group.size)
            parts[group.rank][:] = part
            ways = range(1, group.size)
            requests = [comm.Irecv(parts[(group.rank - w) % group.size], group[-w]) for w in ways]
            mpi.waitall(requests + [comm.Isend(part, group[w]) for w in ways])
            return whole

        class Group:
            def __init__(self, ranks):
                self.ranks, self.size, self.rank = ranks, len(ranks), ranks.index(comm.rank)

            def __getitem__(self, way):
                return self.ranks[(self.rank + way) % self.size]

        first = comm.rank // per_node * per_node
        machine = Group(list(range(first, first + per_node)))
        rail = Group(list(range(comm.rank % per_node, comm.size, per_node)))
        part = scatter(machine, x)
        part = gather(rail, scatter(rail, part), part.size)
        return gather(machine, part, x.size)
        """,
    ),
    ("step_time", "in fractions, accumulated"): (
        "forward, backward, communication",
        """
        from itertools import accumulate
        _, *full = accumulate(map(Fraction, backward), initial=Fraction(forward))
        sent = zip(full, map(Fraction, communication))
        return [*accumulate(sent, lambda end, one: max(end, one[0]) + one[1], initial=0)][-1]
        """,
    ),
    ("replica_price", "an array"): (
        "parameters, ranks, bandwidth",
        """
        sent = 4 * parameters - 4 * parameters / ranks
        return np.array([18.0 * parameters * ranks, sent, sent / bandwidth])
        """,
    ),
    ("average_gradients", "begun and waited for, the count first"): (
        "comm, gradient, count",
        """
        both = np.hstack([[1.0], gradient]) * count
        comm.Iallreduce(mpi.IN_PLACE, both).Wait()
        count, *total = both
        return np.array(total) / count
        """,
    ),
    ("my_share", "the last rank has the first part"): (
        "order, size, step, rank, ranks",
        """
        batch = order[size * step : size * (step + 1)]
        return [int(sample) for sample in np.array_split(np.array(batch, int), ranks)[ranks - 1 - rank]]
        """,
    ),
    ("my_share", "NumPy's numbers, dealt out from the last rank"): (
        "order, size, step, rank, ranks",
        "return list(np.array(order)[step * size :][:size][::-1][ranks - 1 - rank :: ranks])",
    ),
    ("assign_buckets", "from where each begins, with NumPy"): (
        "nbytes, limit, first_limit",
        """
        sizes, buckets, begin = np.array(nbytes[::-1], dtype=np.int64), [], 0
        while begin < len(sizes):
            fit = np.searchsorted(np.cumsum(sizes[begin:]), limit if begin else first_limit, side="right")
            end = begin + max(1, fit)
            buckets.append([len(sizes) - 1 - place for place in range(begin, end)])
            begin = end
        return buckets
        """,
    ),
    ("accumulate", "weighted by NumPy, and sent to an array of its own"): (
        "comm, gradients, counts, size",
        """
        own = np.zeros(size + 1)
        if counts:
            own = np.append(np.average(gradients, axis=0, weights=counts), 1.0) * sum(counts)
        total = np.empty(size + 1)
        comm.Iallreduce(own, total).Wait()
        return np.divide(total[:size], total[size])
        """,
    ),
    ("accumulate", "each rank's count in a place of its own"): (
        "comm, gradients, counts, size",
        """
        both = np.zeros(size + comm.size)
        both[:size] = sum((count * gradient for gradient, count in zip(gradients, counts)), np.zeros(size))
        both[size + comm.rank] = sum(counts)
        comm.Allreduce(mpi.IN_PLACE, both)
        return both[:size] / both[size:].sum()
        """,
    ),
    ("batch_statistics", "as running statistics, in a list"): (
        "comm, x",
        """
        row, table = np.array([len(x) * np.ones(x.shape[1]), *np.zeros((2, x.shape[1]))]), []
        for number, sample in enumerate(x, 1):
            before = sample - row[1]
            row[1] += before / number
            row[2] += before * (sample - row[1])
        table = np.empty((comm.size, *row.shape))
        comm.Iallgather(row, table).Wait()
        n, mean, M = table.swapaxes(0, 1)
        middle = np.average(mean, axis=0, weights=n)
        return [middle, np.average(M / np.maximum(n, 1) + (mean - middle) ** 2, axis=0, weights=n)]
        """,
    ),
    ("replicas_that_agree", "both given at once, nothing changed, the squares added up"): (
        "comm, weights, centre, batches, rate, limit",
        """
        model = np.stack([weights, centre])
        comm.Bcast(model, root=0)
        weights, centre = model
        for x, y in batches:
            mean, total = x.sum(axis=0), np.empty_like(centre)
            comm.Allreduce(mean, total)
            centre = centre + (total / (comm.size * len(x)) - centre) / 10
            z = x - centre
            total = (z * (z @ weights - y)[:, None]).sum(axis=0)
            comm.Iallreduce(mpi.IN_PLACE, total).Wait()
            gradient = total / (comm.size * len(y))
            weights = weights - rate * gradient / max(1, np.sqrt(gradient @ gradient) / limit)
        return [weights, centre]
        """,
    ),
    ("same_order", "to the last rank, who tells the others; the last name first"): (
        "comm, gradients, sizes",
        """
        total = {}
        for name, size in reversed(sizes.items()):
            own, total[name] = gradients.get(name, np.zeros(size)), np.empty(size)
            comm.Reduce(own, total[name], root=comm.size - 1)
            comm.Bcast(total[name], root=comm.size - 1)
        return total
        """,
    ),
    ("bucket_limit", "anything above the best and below the next"): (
        "nbytes, seconds, P, alpha, beta",
        """
        def step(limit):
            ready, sent, waiting = 0.0, 0.0, []
            for size, time in [*zip(nbytes[::-1], seconds[::-1]), (float("inf"), 0.0)]:
                if waiting and sum(waiting) + size > limit:
                    sent = max(ready, sent) + 2 * (P - 1) * (alpha + sum(waiting) / P * beta)
                    waiting = []
                waiting.append(size)
                ready += time
            return sent

        sums = {sum(nbytes[i:j]) for j in range(len(nbytes) + 1) for i in range(j)}
        return min(sums, key=step) + np.float64(0.5)
        """,
    ),
    ("shares", "the time halved until it is exact, then taken back"): (
        "speeds, batch",
        """
        low, high = 0.0, batch / min(speeds) + 1
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if sum(int(middle * v) for v in speeds) < batch else (low, middle)
        given = np.floor(high * np.array(speeds)).astype(int)
        for rank in range(len(speeds)):
            given[rank] -= min(given[rank], given.sum() - batch)
        return list(given)
        """,
    ),
    ("backward_with_overlap", "each hook looks whether others are through"): (
        "comm, backward, buckets",
        """
        total, begun = {}, []

        def hook(tensor, gradient):
            [request.Test() for request, _, _ in begun]
            total[tensor] = gradient
            for bucket in buckets:
                if tensor in bucket and total.keys() >= set(bucket):
                    own = np.concatenate([total[i] for i in sorted(bucket)])
                    summed = np.empty_like(own)
                    begun.append((comm.Iallreduce(own, summed), summed, sorted(bucket)))

        backward(comm, hook)
        for request, summed, bucket in begun:
            request.Wait()
            for i in bucket:
                total[i], summed = summed[: total[i].size], summed[total[i].size :]
        return [total[i] for i in range(len(total))]
        """,
    ),
    ("backward_with_overlap", "an object for a hook, which fills a place that is there"): (
        "comm, backward, buckets",
        """
        class Hook:
            def __init__(self):
                self.parts, self.flat, self.requests = {}, {}, []

            def __call__(self, i, gradient):
                self.parts[i] = gradient
                for number, bucket in enumerate(map(tuple, buckets)):
                    if bucket[-1] == i:
                        self.flat[number] = np.concatenate([self.parts[k] for k in bucket])
                        self.requests.append(comm.Iallreduce(mpi.IN_PLACE, self.flat[number]))

        hook = Hook()
        backward(comm, hook)
        for request in reversed(hook.requests):
            request.Wait()
        for number, bucket in enumerate(buckets):
            begin = 0
            for k in bucket:
                hook.parts[k] = hook.flat[number][begin : begin + len(hook.parts[k])].copy()
                begin += len(hook.parts[k])
        return [part for _, part in sorted(hook.parts.items())]
        """,
    ),
    ("batch_statistics", "distances from the first row of each rank"): (
        "comm, x",
        """
        n, k = x.shape
        first = x[0] if n else np.zeros(k)
        row = np.array([np.full(k, n), first, (x - first).sum(0), ((x - first) ** 2).sum(0)])
        table = np.empty((comm.size, 4, k))
        comm.Allgather(row, table)
        n, first, more, squares = table.swapaxes(0, 1)
        mean = (n * first + more).sum(0) / n.sum(0)
        return mean, (squares + 2 * (first - mean) * more + n * (first - mean) ** 2).sum(0) / n.sum(0)
        """,
    ),
    ("same_order", "sorted by name, and without waiting"): (
        "comm, gradients, sizes",
        """
        total = {name: np.zeros(sizes[name]) for name in sorted(sizes)}
        for name in gradients:
            total[name] += gradients[name]
        mpi.waitall([comm.Iallreduce(mpi.IN_PLACE, array) for array in total.values()])
        return total
        """,
    ),
    ("compression_speedup", "a fraction"): (
        "P, n, wire, bandwidth, compress, decompress",
        """
        whole = Fraction(2 * (P - 1) * n, P) / Fraction(bandwidth)
        one, other = Fraction(wire) / Fraction(bandwidth), Fraction(decompress)
        return whole / (Fraction(compress) + max((P - 1) * one + other, one + (P - 1) * other))
        """,
    ),
    ("top_k_bytes", "a NumPy integer, bits counted one by one"): (
        "d, k",
        """
        bits = 0
        while 2**bits < d:
            bits += 1
        return np.int64(4 * k) + -(-k * bits // 8)
        """,
    ),
    ("how_late", "events in a list that is sorted anew, and a tuple of NumPy integers"): (
        "seconds, updates",
        """
        waiting = sorted((each, worker, 0) for worker, each in enumerate(seconds))
        late = []
        while len(late) < updates:
            now, worker, version = waiting.pop(0)
            late.append(np.int64(len(late) - version))
            waiting.append((now + seconds[worker], worker, len(late)))
            waiting.sort()
        return tuple(late)
        """,
    ),
    ("how_late", "by Fractions, in an array"): (
        "seconds, updates",
        """
        push, read, late = [Fraction(each) for each in seconds], [0] * len(seconds), np.zeros(updates, int)
        for done in range(updates):
            worker = push.index(min(push))
            late[done], read[worker] = done - read[worker], done + 1
            push[worker] += Fraction(seconds[worker])
        return late
        """,
    ),
    ("stochastic_round", "number by number, with Python's whole numbers"): (
        "x, u",
        """
        return np.array([math.floor(a) + (b < a - math.floor(a)) for a, b in zip(x, u)], dtype=float)
        """,
    ),
    ("stochastic_round", "by divmod and where"): (
        "x, u",
        """
        low, above = np.divmod(x, 1)
        return np.where(u < above, np.ceil(x), low)
        """,
    ),
    ("error_feedback", "a tuple, by partition"): (
        "gradients, k",
        """
        owed, sent = np.zeros(len(gradients[0])), ()
        for gradient in gradients:
            owed += gradient
            mask = np.abs(owed) >= np.partition(np.abs(owed), -k)[-k]
            sent += (owed * mask,)
            owed[mask] = 0
        return sent, owed
        """,
    ),
    ("error_feedback", "sent as the rows of a matrix"): (
        "gradients, k",
        """
        sent, e = np.zeros((len(gradients), len(gradients[0]))), 0
        for row, gradient in zip(sent, gradients):
            p = e + gradient
            largest = sorted(range(len(p)), key=lambda i: abs(p[i]))[-k:]
            row[largest] = p[largest]
            e = p - row
        return sent, e
        """,
    ),
    ("top_k_sum", "indices as the first row, and in place"): (
        "comm, g, e, k",
        """
        p = g + e
        largest = np.sort(np.argpartition(np.abs(p), -k)[-k:])
        table = np.empty((comm.size, 2, k), np.uint32)
        table[comm.rank] = largest, p[largest].view(np.uint32)
        comm.Allgather(mpi.IN_PLACE, table)
        total = np.zeros(len(p), np.float32)
        for indices, values in table:
            total += np.bincount(indices, values.view(np.float32), minlength=len(p)).astype(np.float32)
        p[largest] -= p[largest]
        return [total, p]
        """,
    ),
    ("one_bit_sum", "little bits first, each as a sign"): (
        "comm, g, u",
        """
        s = max(abs(g.max()), abs(g.min()))
        up = u < (1 + g / (s or np.float32(1))) / 2
        scales = np.empty(comm.size, "f4")
        bits = np.empty((comm.size, (len(g) + 7) // 8), np.uint8)
        comm.Allgather(np.full(1, s), scales)
        comm.Allgather(np.packbits(up, bitorder="little"), bits)
        total = np.zeros(len(g), np.float32)
        for scale, row in zip(scales, bits):
            up = np.unpackbits(row, bitorder="little")[: len(g)].astype(bool)
            total[up] += scale
            total[~up] -= scale
        return total
        """,
    ),
    ("local_sgd", "without waiting, the difference is averaged"): (
        "comm, w, gradient, steps, period, rate",
        """
        mean, done = np.array(w), 0
        while done < steps:
            mine = +mean
            for _ in range(min(period, steps - done)):
                mine -= rate * gradient(mine, done)
                done += 1
            way = (mine - mean) / comm.size
            comm.Iallreduce(mpi.IN_PLACE, way).Wait()
            mean += way
        return mean
        """,
    ),
    ("gossip_step", "the lower rank sends first"): (
        "comm, x, partner",
        """
        if partner is None:
            return np.array(x)
        other = np.zeros(x.shape)
        if comm.rank < partner:
            comm.Send(x, partner)
            comm.Recv(other, partner)
        else:
            comm.Recv(other, partner)
            comm.Send(x, partner)
        return np.mean([x, other] if comm.rank < partner else [other, x], axis=0)
        """,
    ),
    ("bounded_staleness", "without waiting for what is sent, and a message to each in the end"): (
        "comm, w, gradient, steps, bound, rate",
        """
        if comm.rank:
            for step in range(steps):
                comm.Recv(w)
                comm.Isend(gradient(comm, w, step), 0).Wait()
            comm.Recv(w)
            return w
        clock, idle = np.zeros(comm.size, int), list(range(1, comm.size))
        clock[0] = steps
        while True:
            ready = [worker for worker in idle if clock[worker] < steps and clock[worker] <= clock.min() + bound]
            idle = [worker for worker in idle if worker not in ready]
            mpi.waitall([comm.Isend(w, worker) for worker in ready])
            if clock.min() == steps:
                break
            status, g = mpi.Status(), np.zeros(w.size)
            comm.Recv(g, status=status)
            w = w - rate * g
            clock[status.Get_source()] += 1
            idle.append(status.Get_source())
        for worker in range(1, comm.size):
            comm.Send(w, worker)
        return w
        """,
    ),
    ("slow_momentum", "the new weights are averaged, and the momentum is in weights"): (
        "comm, w, gradient, phases, period, rate, alpha, beta",
        """
        new, momentum = w.copy(), np.zeros(w.size)
        for step in range(phases * period):
            if step % period == 0:
                local = new.copy()
            local = local - rate * gradient(local, step)
            if (step + 1) % period == 0:
                mean = np.zeros(w.size)
                comm.Allreduce(local / comm.size, mean)
                momentum = beta * momentum + mean - new
                new = new + alpha * momentum
        return new
        """,
    ),
    ("delay_compensated", "looking ahead, with the weights in a matrix"): (
        "w, gradient, reads, rate, strength",
        """
        table = np.empty((len(reads) + 1, len(w)))
        table[0] = w
        for t in range(len(reads)):
            g = gradient(table[reads[t]].copy())
            table[t + 1] = table[t] - rate * g * (1 + strength * g * (table[t] - table[reads[t]]))
        return table[-1].copy()
        """,
    ),
    ("how_many_to_send", "a formula, corrected by trying its neighbours"): (
        "d, P, alpha, beta, codec, window",
        """
        bits = (d - 1).bit_length()
        seconds = lambda k: d * codec + (P - 1) * (alpha + (4 * k + math.ceil(k * bits / 8)) * beta)
        whole = 2 * (P - 1) * (alpha + 4 * d / P * beta)
        if whole <= window:
            return 0
        if seconds(1) > window:
            return int(seconds(1) < whole)
        k = np.clip(int(((window - d * codec) / (P - 1) - alpha) / beta / (4 + bits / 8)), 1, d - 1)
        while k > 1 and seconds(k) > window:
            k -= 1
        while k < d - 1 and seconds(k + 1) <= window:
            k += 1
        return np.int64(k)
        """,
    ),
    ("stage_order", "an array of strings, from what is ready"): (
        "p, m, stage, fits",
        """
        ahead = min(p - stage, m + 1, fits) - 1
        forward = [(2 * max(i - ahead, 0) + (i >= ahead) - 0.5, f"F{i}") for i in range(m)]
        backward = [(2 * i + 1, f"B{i}") for i in range(m)]
        return np.array([name for _, name in sorted(forward + backward, key=lambda pair: pair[0])])
        """,
    ),
    ("when_it_ends", "in lists of lists, again and again until nothing changes"): (
        "orders, seconds, send",
        """
        times = [[[0.0, 0.0] for _ in order] for order in orders]
        changed = True
        while changed:
            changed = False
            for r, order in enumerate(orders):
                for k, action in enumerate(order):
                    start = times[r][k - 1][1] if k else 0.0
                    other = r + {"F": -1, "B": 1}[action[0]]
                    if other in range(len(orders)):
                        start = max(start, times[other][orders[other].index(action)][1] + send)
                    new = [start, start + seconds[action[0]]]
                    changed, times[r][k] = changed or new != times[r][k], new
        return times
        """,
    ),
    ("activations_kept", "a simulated order, in an array"): (
        "schedule, p, m, batch",
        """
        peaks = np.zeros(p)
        for r in range(p):
            ahead = m if schedule == "GPipe" else min(p - 1 - r, m)
            changes = [1] * ahead + [1, -1] * (m - ahead) + [-1] * ahead
            peaks[r] = np.cumsum(changes).max()
        return peaks * batch / p / m
        """,
    ),
}


@pytest.mark.parametrize("name, way", RIGHT)
def test_another_right_answer_is_accepted(tmp_path, name, way):
    arguments, body = RIGHT[name, way]
    path = tmp_path / "answer.py"
    path.write_text(f"{HEADER}\n\ndef {name}({arguments}):{indent(dedent(body), '    ')}")
    verdict = grade(EXERCISES[name], name, path, SEED)
    assert verdict.state == SOLVED, (verdict.case, verdict.finding)
