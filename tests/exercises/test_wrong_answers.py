"""Wrong answers that earn the same hint as another one, and so do not stand in exercises/misconceptions/."""

from textwrap import dedent, indent

import pytest

from exercises.grading.grade import WRONG, grade

from .test_graders import EXERCISES, SEED
from .test_right_answers import HEADER

HALVES = """
def ring_reduce_scatter(comm, x):
    P, rank = comm.size, comm.rank
    blocks = np.array_split(x.copy(), P)
    for step in range(P - 1):
        growing = blocks[(rank - 2 - step) % P]
        arriving = np.empty_like(growing)
        comm.Sendrecv(blocks[(rank - 1 - step) % P], (rank + 1) % P, recvbuf=arriving, source=(rank - 1) % P)
        growing += arriving
    return blocks[rank].copy()


def ring_allgather(comm, block, lengths):
    P, rank = comm.size, comm.rank
    blocks = [np.empty(length) for length in lengths]
    blocks[rank][:] = block
    for step in range(P - 1):
        comm.Sendrecv(blocks[rank - step], (rank + 1) % P, recvbuf=blocks[rank - step - 1], source=(rank - 1) % P)
    return np.concatenate(blocks)


def doubling(comm, x, core=None):
    P, rank = comm.size, comm.rank
    core = core or 1 << (P.bit_length() - 1)
    total, other = x.copy(), np.empty_like(x)
    if rank >= core:
        comm.Send(total, dest=rank - core)
        comm.Recv(total, source=rank - core)
        return total
    if rank + core < P:
        comm.Recv(other, source=rank + core)
        total += other
    for k in range(core.bit_length() - 1):
        comm.Sendrecv(total, rank ^ 2**k, recvbuf=other, source=rank ^ 2**k)
        total += other
    if rank + core < P:
        comm.Send(total, dest=rank + core)
    return total
"""
ANSWERS = {  # (exercise, what is wrong): (arguments, body, words of the hint)
    ("ring_allreduce", "another algorithm"): (
        "comm, x",
        "return doubling(comm, x)",
        "each rank sends to its right neighbour only",
    ),
    ("recursive_doubling", "C is rounded, and so above P"): (
        "comm, x",
        "return doubling(comm, x, 2 ** round(np.log2(comm.size)))",
        "C is 2 here, the largest power of two that is not above 3",
    ),
    ("allreduce_together", "the first array by the library, the others by hand"): (
        "comm, arrays",
        """
        total = np.empty_like(arrays[0]) if arrays else np.empty(0)
        comm.Allreduce(arrays[0] if arrays else np.empty(0), total)
        others = [doubling(comm, array.ravel()).reshape(array.shape) for array in arrays[1:]]
        return [total, *others][: len(arrays)]
        """,
        "should come out of it",
    ),
    ("allreduce_together", "in a group of its own"): (
        "comm, arrays",
        """
        flat = np.concatenate([np.empty(0), *map(np.ravel, arrays)])
        comm.Split(0, comm.rank).Allreduce(mpi.IN_PLACE, flat)
        cuts = np.cumsum([array.size for array in arrays], dtype=int)
        return [part.reshape(array.shape) for part, array in zip(np.split(flat, cuts), arrays)]
        """,
        "should come out of it",
    ),
    ("hierarchical_allreduce", "recursive doubling across the machines"): (
        "comm, x, per_node",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        rail = comm.Split(comm.rank % per_node, comm.rank)
        part = doubling(rail, ring_reduce_scatter(machine, x))
        return ring_allgather(machine, part, [block.size for block in np.array_split(x, per_node)])
        """,
        "every card is in use, but not evenly",
    ),
    ("hierarchical_allreduce", "the lengths of the wrong cut"): (
        "comm, x, per_node",
        """
        machine = comm.Split(comm.rank // per_node, comm.rank)
        part = ring_reduce_scatter(machine, x)
        return ring_allgather(machine, part, [block.size for block in np.array_split(x, comm.size)])
        """,
        "into how many parts does your code cut x?",
    ),
    ("stochastic_round", "by way of float32"): (
        "x, u",
        """
        low = np.floor(x.astype(np.float32))
        return (low + (u < x - low)).astype(float)
        """,
        "Only large numbers are wrong",
    ),
    ("compression_speedup", "parts of a byte are cut off"): (
        "P, n, wire, bandwidth, compress, decompress",
        """
        one = wire / bandwidth
        return 2 * (P - 1) * (n // P) / bandwidth / (compress + one + (P - 2) * max(one, decompress) + decompress)
        """,
        "Write down two times",
    ),
    ("delay_compensated", "forgets the weights of ten updates ago"): (
        "w, gradient, reads, rate, strength",
        """
        history = [w.copy()]
        for read in reads:
            old, now = history[max(read, len(history) - 10)], history[-1]
            g = gradient(old)
            history.append(now - rate * (g + strength * g * g * (now - old)))
        return history[-1]
        """,
        "Write down Taylor's series",
    ),
    ("slow_momentum", "in two halves"): (
        "comm, w, gradient, phases, period, rate, alpha, beta",
        """
        u = 0.0
        for phase in range(phases):
            mean = w
            for step in range(period):
                mean = mean - rate * gradient(mean, phase * period + step)
            comm.Allreduce(mpi.IN_PLACE, mean[:2])
            comm.Allreduce(mpi.IN_PLACE, mean[2:])
            u = beta * u + (w - mean / comm.size) / rate
            w = w - alpha * rate * u
        return w
        """,
        "One Allreduce a phase is enough",
    ),
    ("bubble_share", "1F1B is always busy"): (
        "schedule, p, m, v",
        'return {"1F1B": 0.0, "naive": (p - 1) / p}.get(schedule, (p - 1) / (v * m + p - 1))',
        "Which of these three does the order change?",
    ),
    ("activations_kept", "the list is too short"): (
        "schedule, p, m, batch",
        "return [batch / p]",
        "Return a list of 4 numbers",
    ),
    ("stage_order", "a generator"): (
        "p, m, stage, fits",
        'yield "F0"',
        "Return a list of strings",
    ),
    ("when_it_ends", "ends alone"): (
        "orders, seconds, send",
        "return [[1.0, 7.0], [2.5, 4.5]]",
        "with one pair (start, end) for each of its actions",
    ),
    ("messages_of", "to the stage, as if it were a rank"): (
        "orders, rank",
        """
        return [((f"{int(a[0]) - 1}{a[1:]}", int(a[0]) - 1) if a[0] > "0" and a[1] == "F" else None, None) for a in
                orders[rank]]
        """,
        "Here nothing is sent, and another rank waits for it",
    ),
}


@pytest.mark.parametrize("name, what", ANSWERS)
def test_a_wrong_answer_is_told_what_is_wrong(tmp_path, name, what):
    arguments, body, hint = ANSWERS[name, what]
    path = tmp_path / "answer.py"
    path.write_text(f"{HEADER}\n{HALVES}\n\ndef {name}({arguments}):\n{indent(dedent(body), '    ')}\n")
    verdict = grade(EXERCISES[name], name, path, SEED)
    assert verdict.state == WRONG
    assert hint in verdict.finding.hint
