"""How compressed gradients are summed: the serial sum of what each rank said, in the bytes and time of the formulas."""

import numpy as np
import pytest
import torch

from reference.collectives import allreduce
from reference.collectives.ring import ring_bytes
from reference.compression import int8, random_k, scaled_sign, threshold, top_k
from reference.compression.error_feedback import ErrorFeedback
from reference.compression.powersgd import PowerSGD, power_sgd
from reference.compression.reduce import (
    TwoWay,
    allgather_cost,
    allgather_sum,
    majority_vote,
    shared_random_k_sum,
    two_way_cost,
    two_way_sum,
)
from reference.models import generator
from reference.mpi import compute
from reference.networks import Link
from reference.worlds import LaunchError, launch, networks

A, B, C = 3e-6, 2e-10, 7e-11
NETWORK = networks.uniform(A, B, C)
RANKS = (1, 2, 3, 5, 8)


def vector(rank, d=40):
    return torch.randn(d, generator=generator(7, rank))


def alike(tensors):
    return all(torch.equal(tensor, tensors[0]) for tensor in tensors)


# All wires to all ranks


@pytest.mark.parametrize("codec", [top_k(5), scaled_sign(), threshold(1.0), random_k(3)], ids=lambda codec: codec.name)
def test_the_sum_of_what_each_rank_said(codec, world):
    def program(comm):
        return allgather_sum(comm, codec, vector(comm.rank), generator(comm.rank))

    for P in RANKS if world == "virtual" else (3,):
        said = [codec.decode(codec.encode(vector(r), generator(r)), 40) for r in range(P)]
        found = launch(program, P, world=world).results
        assert alike(found) and torch.equal(found[0], sum(said[1:], said[0]))


@pytest.mark.parametrize("algorithm", ["ring", "direct", "recursive doubling", "bruck"])
def test_any_all_gather_will_do(algorithm):
    """Of wires of different lengths, too."""
    codec = threshold(1.0)

    def program(comm):
        return allgather_sum(comm, codec, vector(comm.rank), algorithm=algorithm)

    said = [codec.decode(codec.encode(vector(rank)), 40) for rank in range(5)]
    assert torch.equal(launch(program, 5).results[3], sum(said[1:], said[0]))


@pytest.mark.parametrize("codec", [int8(16), threshold(0.5)], ids=lambda codec: codec.name)
@pytest.mark.parametrize("P", RANKS)
def test_bytes_and_seconds_of_the_all_gather(codec, P):
    """(P - 1) w for each rank; the longest wire decides about the time, for it passes every rank."""
    run = launch(lambda comm: allgather_sum(comm, codec, vector(comm.rank)).shape, P, network=NETWORK)
    wires, fixed = [len(codec.encode(vector(rank))) for rank in range(P)], codec.nbytes(40) is not None
    sent = sum(wires) * (P - 1) + (0 if fixed else 8 * P * (P - 1))
    assert sum(run.bytes_sent) == sent and (not fixed or set(run.bytes_sent) == {(P - 1) * wires[0]})
    assert run.seconds == pytest.approx(allgather_cost(P, max(wires), 40, Link(A, B, C), fixed).seconds)


def test_error_feedback_is_a_sender_too_and_the_sum_can_wait():
    """All that was received and all that is remembered is all there was."""

    def program(comm):
        feedback, received = ErrorFeedback(top_k(4), 40), torch.zeros(40)
        for step in range(5):
            request = allgather_sum.start(comm, feedback, vector(comm.rank + 10 * step))
            request.Wait()
            received += request.result
        return received, feedback.error

    results = launch(program, 3).results
    there_was = sum(vector(rank + 10 * step) for rank in range(3) for step in range(5))
    assert alike([received for received, _ in results])
    assert torch.allclose(results[0][0] + sum(error for _, error in results), there_was, atol=1e-5)


def test_e1_54_what_is_sent_grows_with_the_ranks_where_a_ring_stays_level():
    """Top 1 %: the all-gather sends more than the dense ring from about 2 * 4 d / w ranks on, whatever is encoded."""
    d, codec = 1000, top_k(0.01)
    w = codec.nbytes(d)

    def compressed(comm):
        allgather_sum(comm, codec, torch.ones(d))

    def dense(comm):
        allreduce(comm, torch.ones(d), algorithm="ring")

    sent = {P: [max(launch(program, P).bytes_sent) for program in (compressed, dense)] for P in (2, 8, 40)}
    assert [sent[P][0] for P in (2, 8, 40)] == [w, 7 * w, 39 * w]
    assert [sent[P][1] / (4 * d) for P in (2, 8, 40)] == [1, 1.75, 1.95]
    P = round(2 * 4 * d / w)
    assert P == 151 and 39 * w < 1.95 * 4 * d
    times = [(allgather_cost(P, w, d, Link(0, B)).seconds, 2 * (P - 1) / P * 4 * d * B) for P in (P - 2, P + 2)]
    assert times[0][0] < times[0][1] and times[1][0] > times[1][1]


# Linear


def test_what_all_choose_alike_is_summed_by_an_ordinary_all_reduce(world):
    """Aggregation commutes: the sum of the C(x) is C of the sum."""

    def program(comm, seeds):
        x = vector(comm.rank)
        return shared_random_k_sum(comm, x, 8, generator(seeds[comm.rank]), algorithm="ring")

    P = 3
    run = launch(program, P, [5] * P, world=world)
    codec = random_k(8)
    total = sum(codec.decode(codec.encode(vector(rank), generator(5)), 40) for rank in range(P))
    of_the_sum = codec.decode(codec.encode(sum(vector(rank) for rank in range(P)), generator(5)), 40)
    assert alike(run.results) and torch.allclose(run.results[0], total) and torch.allclose(total, of_the_sum, atol=1e-5)
    assert run.bytes_sent == ring_bytes(P, 8, 4).tolist()  # no index on the wire
    if world == "virtual":
        wrong = launch(program, P, list(range(P))).results  # each its own: sums of what does not belong together
        assert not alike(wrong)


# Compress, sum, compress again


@pytest.mark.parametrize("P", RANKS)
@pytest.mark.parametrize("d", [40, 43, 3])
def test_two_way_by_hand(P, d):
    """Each block is encoded, summed by its owner, encoded, and sent to all."""
    codec, cuts = scaled_sign(), np.array_split(np.arange(d), P)

    def program(comm):
        return two_way_sum(comm, vector(comm.rank, d), TwoWay(codec, d, comm.rank, comm.size, feedback=False))

    def roundtrip(x):
        return codec.decode(codec.encode(x), len(x))

    found = launch(program, P).results
    xs = [vector(rank, d) for rank in range(P)]
    for cut in (cut for cut in cuts if len(cut)):
        assert torch.allclose(found[0][cut], roundtrip(sum(roundtrip(x[cut]) for x in xs)))
    assert alike(found)


@pytest.mark.parametrize("P", RANKS)
def test_bytes_and_seconds_of_the_two_ways(P):
    d = 16 * P
    run = launch(
        lambda comm: two_way_sum(comm, vector(comm.rank, d), TwoWay(scaled_sign(), d, comm.rank, P)).shape,
        P,
        network=NETWORK,
    )
    wire = 4 + 2  # a scale and 16 bits
    assert set(run.bytes_sent) == {2 * (P - 1) * wire}
    assert run.seconds == pytest.approx(two_way_cost(P, wire, 16, Link(A, B, C)).seconds)
    uneven = launch(
        lambda comm: two_way_sum(comm, vector(comm.rank, d + 1), TwoWay(scaled_sign(), d + 1, comm.rank, P)).shape,
        P,
        network=NETWORK,
    )
    assert uneven.seconds <= two_way_cost(P, wire + 1, 17, Link(A, B, C)).seconds * (1 + 1e-9)


def test_both_errors_are_fed_back():
    """What was received, and what is remembered on the way up and down, is all there was."""

    def program(comm, feedback):
        state, received = TwoWay(scaled_sign(), 40, comm.rank, comm.size, feedback), torch.zeros(40)
        for step in range(4):
            received += two_way_sum(comm, vector(comm.rank + 10 * step), state)
        return received, torch.cat([each.error for each in state.up]) if feedback else None, state.down

    P = 4
    results = launch(program, P, True).results
    up, down = sum(up for _, up, _ in results), torch.cat([down.error for _, _, down in results])
    there_was = sum(vector(rank + 10 * step) for rank in range(P) for step in range(4))
    assert torch.allclose(results[0][0] + up + down, there_was, atol=1e-5)
    assert alike([received for received, _, _ in results])
    lost = launch(program, P, False).results[0][0] - there_was
    assert lost.norm() > 2 * (up + down).norm() / 3


@pytest.mark.parametrize("P", RANKS)
def test_the_majority_decides(P):
    run = launch(lambda comm: majority_vote(comm, vector(comm.rank, 64)), P)
    votes = sum(torch.where(vector(rank, 64) >= 0, 1, -1) for rank in range(P))
    assert alike(run.results) and torch.equal(run.results[0], torch.where(votes >= 0, 1.0, -1.0))
    lengths = [len(part) for part in np.array_split(np.arange(64), P)]
    wires = [n // 8 + 1 for n in lengths]
    assert run.bytes_sent == [sum(wires) - own + (P - 1) * own for own in wires]


def test_a_rank_that_shouts_has_one_vote():
    def program(comm):
        x = torch.ones(16) * (-1e6 if comm.rank == 0 else 1.0)
        return majority_vote(comm, x.clone()), allreduce(comm, x)

    vote, total = launch(program, 5).results[0]
    assert (vote == 1).all() and (total < 0).all()


@pytest.mark.parametrize("way", ["varying", "two ways", "PowerSGD"])
def test_two_under_way_do_not_mix(way, world):
    """Each has two parts, and on every rank another one comes to its second part first."""

    def start(comm, x):
        if way == "varying":
            return allgather_sum.start(comm, threshold(1.0), x)
        if way == "two ways":
            return two_way_sum.start(comm, x, TwoWay(int8(), 40, comm.rank, comm.size))
        return power_sgd.start(
            comm, [x.view(8, 5)], PowerSGD([(8, 5)], 1, generator(1)), algorithm="recursive doubling"
        )

    def program(comm, together):
        x, y = vector(comm.rank), vector(comm.rank + 10)
        requests = []
        for each in (x, y):
            requests.append(start(comm, each))
            if not together:
                requests[-1].Wait()
        compute(comm, 1e-3)  # by now the first parts are through
        pending = requests[:: (-1) ** comm.rank]
        while pending:
            pending = [request for request in pending if not request.Test()]
        return torch.cat([x, y])

    P = 2
    one_by_one = launch(program, P, False, world=world).results[0]
    assert all(torch.equal(found, one_by_one) for found in launch(program, P, True, world=world).results)


# What can be wrong


ON_REAL_RANKS = pytest.param("two ways", "mpi", marks=pytest.mark.mpi)


@pytest.mark.parametrize(
    "way, world", [*((way, "virtual") for way in ("fixed", "varying", "two ways", "vote")), ON_REAL_RANKS]
)
def test_a_nan_is_an_error_on_every_rank(way, world):
    def program(comm):
        x = vector(comm.rank)
        if comm.rank == 1:
            x[3] = torch.nan
        try:
            if way == "two ways":
                two_way_sum(comm, x, TwoWay(int8(), 40, comm.rank, comm.size))
            elif way == "vote":
                majority_vote(comm, x)
            else:
                allgather_sum(comm, top_k(3) if way == "fixed" else threshold(1.0), x)
        except ValueError as error:
            return str(error)
        return None

    said = launch(program, 3, world=world).results
    assert all("could not" in each for each in said)
    assert f"1 of {14 if way in ('two ways', 'vote') else 40} elements are NaN" in said[1]


def test_a_vote_without_dissent_is_no_error():
    """All bits are set, which must not be taken for a rank that could not encode."""
    run = launch(lambda comm: [majority_vote(comm, torch.ones(d)).sum().item() for d in (14, 15, 16, 17)], 2)
    assert run.results == [[14, 15, 16, 17]] * 2


def test_clear_errors():
    with pytest.raises(ValueError, match=r"threshold 1.0 has wires of varying size; two_way_sum needs to know"):
        TwoWay(threshold(1.0), 10, 0, 2)
    with pytest.raises(LaunchError, match="no algorithm 'tree'"):
        launch(lambda comm: allgather_sum(comm, int8(), torch.ones(4), algorithm="tree"), 2)
