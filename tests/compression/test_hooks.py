"""Hooks: a Replica whose buckets travel compressed: right, alike on all ranks, in fewer bytes, as torch's own."""

import pytest
import torch

from reference.compression import bf16, fp16, int8, top_k
from reference.compression.hooks import gathered, power_sgd, short_float, two_way
from reference.compression.reduce import TwoWay, two_way_sum
from reference.data_parallel.replica import Replica
from reference.models import MLP, Objective, batch, digits, generator, loss_sum
from reference.mpi import compute
from reference.worlds import LaunchError, launch, networks

HOOKS = {
    "fp16": lambda replica: short_float(torch.float16, 64),
    "bf16": lambda replica: short_float(torch.bfloat16),
    "bf16 two ways": lambda replica: two_way(bf16()),
    "int8": lambda replica: two_way(int8()),
    "top-k": lambda replica: gathered(top_k(0.05)),
    "PowerSGD": lambda replica: power_sgd(replica, 2),
}


def trained(comm, name, steps, order="reverse", size=60):
    """The weights after some steps of SGD with this hook, and the bytes of a bucket's state."""
    model = MLP((64, 32, 10), seed=1)
    replica = Replica(comm, model, bucket_bytes=2000, first_bucket_bytes=2000, order=order)
    replica.communicate = HOOKS[name](replica) if name else replica.communicate
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5)
    for step in range(steps):
        total, count = loss_sum(model, batch(digits(), size, step, rank=comm.rank, ranks=comm.size))
        replica.backward(total, count)
        optimizer.step()
    return torch.cat([p.detach().view(-1) for p in model.parameters()])


@pytest.fixture(scope="module")
def uncompressed():
    """The same training without a hook."""
    return launch(trained, 3, None, 30, "reverse", 61)


SHARES = {"fp16": 0.51, "bf16": 0.51, "bf16 two ways": 0.51, "int8": 0.28, "top-k": 0.12, "PowerSGD": 0.45}


@pytest.mark.parametrize("name", HOOKS)
def test_the_ranks_stay_alike_and_the_model_learns_in_fewer_bytes(name, uncompressed):
    """30 steps on the digits with 3 ranks, uneven batches: the loss is nearly that of the uncompressed run."""
    run, objective = launch(trained, 3, name, 30, "reverse", 61), Objective(MLP((64, 32, 10), seed=1), digits(), 61)
    assert all(torch.equal(w, run.results[0]) for w in run.results)
    start, exact, found = (objective.loss(w) for w in (objective.start(), uncompressed.results[0], run.results[0]))
    assert found - exact < 0.1 * (start - exact)
    assert sum(run.bytes_sent) < SHARES[name] * sum(uncompressed.bytes_sent)


@pytest.mark.mpi
@pytest.mark.parametrize("name", ["bf16", "top-k", "PowerSGD"])
def test_on_real_ranks(name):
    """bfloat16 among them, which MPI cannot add: our own all-reduce does."""
    real = launch(trained, 2, name, 3, world="mpi").results
    assert torch.equal(real[0], real[1]) and torch.allclose(real[0], launch(trained, 2, name, 3).results[0], atol=2e-2)


@pytest.mark.parametrize("name", ["top-k", "PowerSGD"])
def test_new_buckets_have_no_memory_of_the_old(name):
    """With order "ready" the second step has other buckets: the errors of the first do not belong to them."""
    results = launch(trained, 3, name, 5, "ready").results
    assert all(torch.equal(w, results[0]) for w in results)


def test_a_bucket_remembers_its_own_error_only():
    """The 2 that was left out comes with the next gradient of this bucket, and never with that of another."""

    def program(comm):
        hook, old, new, found = gathered(top_k(1)), torch.tensor([3.0, 2.0]), torch.zeros(2), []
        for flat, value in [(old, [3.0, 2.0]), (old, [0.0, 0.0]), (old, [3.0, 2.0]), (new, [0.0, 0.0])]:
            flat.copy_(torch.tensor(value))
            hook(comm, 0, flat).Wait()
            found.append(flat.tolist())
        return found

    assert launch(program, 1).results == [[[3, 0], [0, 2], [3, 0], [0, 0]]]


def test_a_nan_gradient_is_an_error_on_every_rank(world):
    def program(comm):
        model = MLP((64, 32, 10), seed=1)
        replica = Replica(comm, model, bucket_bytes=2000, communicate=gathered(top_k(0.05)))
        data = batch(digits(), 30, 0, rank=comm.rank, ranks=comm.size)
        if comm.rank == 1:
            data.x[0, 0] = torch.nan
        replica.backward(*loss_sum(model, data))

    with pytest.raises(
        LaunchError, match=r"raised on ranks 0 and 1(.|\n)*ranks \[1\] of 2 could not encode their vectors"
    ):
        launch(program, 2, world=world)


# As torch's own


@pytest.mark.parametrize("dtype, digits", [(torch.float16, 11), (torch.bfloat16, 8)])
def test_what_torch_makes_of_the_same_gradients(oracles, dtype, digits):
    """fp16_compress_hook and bf16_compress_hook over gloo: equal but for the order in which roundings happen."""
    told = oracles["fp16_hook" if dtype == torch.float16 else "bf16_hook"]

    def program(comm):
        found = []
        for step in told[comm.rank]:
            flat = torch.cat([g.view(-1) for g in step["before"]])
            short_float(dtype)(comm, 0, flat).Wait()
            found.append(flat / comm.size)
        return found

    ours = launch(program, 3).results[0]
    for step, mean in enumerate(ours):
        theirs = torch.cat([g.view(-1) for g in told[0][step]["after"]])
        parts = [torch.cat([g.view(-1) for g in told[rank][step]["before"]]) for rank in range(3)]
        exact, scale = sum(parts) / 3, sum(part.abs() for part in parts) / 3
        for found in (mean, theirs):  # one rounding of each part, and two of sums: half a unit each
            assert ((found - exact).abs() <= 4 * 2.0**-digits * scale + 1e-7).all()
        assert (mean - exact).norm() < 1.5 * (theirs - exact).norm() and not torch.equal(mean, exact)


# Range and rounding


def reduced(hook, values, P=8):
    def program(comm):
        flat = torch.tensor(values)
        hook(comm, 0, flat).Wait()
        return flat

    return launch(program, P).results[0].tolist()


def test_e3_15_sums_in_fp16_overflow_or_vanish_unless_the_division_is_shared_out():
    """8 ranks: 30,000 each is 240,000 together, and 1e-6 / 1024 is nothing; bf16 has the range, and few digits."""
    values = [30000.0, 1e-6, 1.0]
    exact = [240000.0, 8e-6, 8.0]
    after = reduced(short_float(torch.float16, 1), values)
    assert after[0] == float("inf") and after[1:] == pytest.approx(exact[1:], rel=0.06)
    before = reduced(short_float(torch.float16, 1024), values)
    assert before[1] == 0 and before[0] == 240000 and before[2] == 8
    partly = reduced(short_float(torch.float16), values)  # by 8
    assert partly == pytest.approx(exact, rel=0.06) and partly[0] == 240000
    assert reduced(short_float(torch.bfloat16), values) == pytest.approx(exact, rel=2**-7)
    beyond = reduced(short_float(torch.float16, 1024), [100000.0])  # fp16 has no 100,000: divided in float32
    assert beyond == pytest.approx([800000], rel=2**-10)


def test_e3_15_many_additions_in_few_digits_lose_what_is_small():
    """256 + 1 + 1 + ... in bfloat16 is 256; compressed both ways, added in float32, it is rounded once at the end."""

    def program(comm, hook):
        flat = torch.full((16,), 256.0 if comm.rank == 1 else 1.0)  # rank 1 begins the sum of block 0 of the ring
        hook(comm, 0, flat).Wait()
        return flat[0].item()

    ring = launch(program, 16, short_float(torch.bfloat16, algorithm="ring"))
    both_ways = launch(program, 16, two_way(bf16(), feedback=False))
    assert ring.results[0] == 256 and both_ways.results[0] == 272  # 271 needs 9 bits
    assert ring.bytes_sent == both_ways.bytes_sent == [2 * 15 * 2] * 16


def test_fp16_and_bf16_both_ways_are_a_rounding_up_and_one_down():
    def program(comm, codec):
        x = torch.randn(33, generator=generator(comm.rank))
        return two_way_sum(comm, x.clone(), TwoWay(codec, 33, comm.rank, comm.size, feedback=False)), x

    for codec, dtype in [(fp16(), torch.float16), (bf16(), torch.bfloat16)]:
        results = launch(program, 4, codec).results
        total = sum(x.to(dtype).float() for _, x in results)
        assert torch.allclose(results[0][0], total.to(dtype).float(), rtol=1e-2)


# Hidden


def test_a_compressed_bucket_travels_while_the_backward_pass_goes_on():
    network = networks.uniform(1e-5, 1e-8)

    def program(comm, hidden):
        flat = torch.randn(4000, generator=generator(comm.rank))
        request = gathered(top_k(400))(comm, 0, flat)
        if not hidden:
            request.Wait()
        for _ in range(50):
            compute(comm, 1e-5)
            request.Test()
        request.Wait()

    exposed, hidden = (launch(program, 4, how, network=network).seconds for how in (False, True))
    assert exposed > 5e-4 + 8e-5 > 5.5e-4 > hidden
