"""Accumulation: one gradient and one synchronisation whatever K is; the rules of division; the accumulators."""

import pytest
import torch

from reference.collectives import allreduce, rounding
from reference.data_parallel.accumulation import RULES, Accumulator, accumulate, micro_batches, relative_error, weights
from reference.data_parallel.replica import Replica
from reference.models import IGNORED, MLP, Data, digits, gradients, loss_sum, share
from reference.worlds import launch

DATA = Data(*(part[:17] for part in digits()))


def ring(comm, index, flat):
    return allreduce.start(comm, flat, algorithm="ring")


def some_ignored():
    """Targets that do not count, unevenly: 3 of the first 6, none of the others."""
    y = DATA.y.clone()
    y[:6:2] = IGNORED
    return Data(DATA.x.double(), y)


@pytest.mark.parametrize("ranks, K", [(1, 4), (2, 1), (2, 3), (3, 2), (3, 5), (5, 4), (8, 3)])
def test_the_gradient_is_that_of_the_whole_batch(ranks, K):
    """Also where K does not divide the samples, and where there are more parts than samples."""

    def program(comm):
        model = MLP((64, 10), seed=0).double()
        replica = Replica(comm, model, communicate=ring)
        mine = Data(*(share(part, comm.rank, comm.size) for part in some_ignored()))
        total, count = accumulate(replica, loss_sum, mine, K)
        return model[0].weight.grad, total, count

    serial = MLP((64, 10), seed=0).double()
    loss = gradients(serial, some_ignored())
    found, totals, counts = zip(*launch(program, ranks).results)
    assert set(counts) == {14} and sum(totals) == pytest.approx(14 * loss)
    for each in found:
        assert torch.equal(each, found[0])
        torch.testing.assert_close(each, serial[0].weight.grad, rtol=1e-12, atol=1e-15)


def test_each_rank_may_have_a_K_of_its_own():
    def program(comm):
        model = MLP((64, 10), seed=0)
        replica = Replica(comm, model, communicate=ring)
        accumulate(replica, loss_sum, Data(*(share(part, comm.rank, comm.size) for part in DATA)), comm.rank + 1)
        return model[0].weight.grad

    serial = MLP((64, 10), seed=0)
    gradients(serial, DATA)
    for found in launch(program, 3).results:
        torch.testing.assert_close(found, serial[0].weight.grad)


def test_messages_become_fewer_for_each_sample_and_not_larger():
    def program(comm, K, steps, each_time=False):
        model = MLP((64, 10), seed=0)
        replica = Replica(comm, model, communicate=ring)
        for _ in range(steps):
            if each_time:  # as without no_sync
                for part in micro_batches(DATA, K):
                    replica.backward(*loss_sum(model, part))
            else:
                accumulate(replica, loss_sum, DATA, K)

    def sent(*how):
        some, more = launch(program, 3, how[0], 0), launch(program, 3, how[0], 1, *how[1:])
        sizes = [b - a for a, b in zip(some.bytes_sent, more.bytes_sent)]
        return sizes, [b - a for a, b in zip(some.messages, more.messages)]

    assert sent(1) == sent(2) == sent(7)
    (once, messages), (often, many) = sent(4), sent(4, True)
    assert often == [4 * n for n in once] and many == [4 * m for m in messages]


def test_K_that_does_not_divide():
    assert [len(part.y) for part in micro_batches(DATA, 5)] == [4, 4, 3, 3, 3]
    assert [len(part.y) for part in micro_batches(Data(DATA.x[:2], DATA.y[:2]), 3)] == [1, 1, 0]
    assert torch.equal(torch.cat([part.y for part in micro_batches(DATA, 5)]), DATA.y)
    with pytest.raises(ValueError, match="cannot be cut into 0 micro-batches"):
        micro_batches(DATA, 0)


def test_the_rules_by_what_a_sample_counts():
    """Micro-batches of 4, 4 and 1 tokens: the mean of means lets the one count four times as much as the others."""
    assert weights("sum of sums / all samples", [4, 4, 1]) == [1 / 9] * 3
    assert weights("sum of sums", [4, 4, 1]) == [1] * 3  # 9 times too large
    assert weights("sum of means", [4, 4, 1]) == [1 / 4, 1 / 4, 1]
    assert weights("mean of means", [4, 4, 1]) == pytest.approx([1 / 12, 1 / 12, 1 / 3])
    for rule in RULES:  # each is right or off by one factor if all counts are equal
        assert len(set(weights(rule, [5, 5, 5]))) == 1
    assert weights("mean of means", [5] * 3) == pytest.approx(weights("sum of sums / all samples", [5] * 3))


# Accumulators


def test_an_accumulator_adds():
    for dtype in (torch.float32, torch.bfloat16, torch.float16):
        for compensated in (False, True):
            one = Accumulator(torch.zeros(2, 3), dtype, compensated)
            for k in range(5):
                one.add(torch.full((2, 3), float(k)))
            assert one.total.dtype == dtype and one.total.tolist() == [[10.0] * 3] * 2


def test_16_bits_fail_and_32_do_not():
    """The figures of the chapter. Stagnation: a sum grows no more when it is 2^8 to 2^9 times what is added."""
    found = {(K, kind): relative_error(K, kind) for K in (32, 4096) for kind in (torch.float32, torch.bfloat16)}
    assert 0.001 < found[32, torch.bfloat16] < 0.01 and 0.8 < found[4096, torch.bfloat16] < 0.95
    assert 0.15 < relative_error(4096, torch.float16) < 0.35
    assert found[32, torch.float32] < 1e-7 and found[4096, torch.float32] < 1e-6
    ones = Accumulator(torch.zeros(1), torch.bfloat16)
    for _ in range(1000):
        ones.add(torch.ones(1))
    assert ones.total.item() == 256


@pytest.mark.parametrize("K", [1, 32, 1024])
def test_kahans_sum_of_a_thousand_terms_is_as_good_as_one_rounding(K):
    """Higham (2002), section 4.3: an error of 2 u + O(K u^2), where plain summation has up to (K - 1) u."""
    for kind in (torch.bfloat16, torch.float16):
        u = rounding.unit_roundoff(kind)
        assert relative_error(K, kind, compensated=True) < 3 * u  # each term is rounded to the type, too


def test_kahan_in_16_bits_needs_the_memory_of_float32():
    like = torch.zeros(10)
    assert Accumulator(like, torch.bfloat16, compensated=True).nbytes == Accumulator(like).nbytes == 40
    assert Accumulator(like, torch.bfloat16).nbytes == 20
