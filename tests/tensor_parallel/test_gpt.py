"""The GPT on P ranks: loss and all gradients of the serial one, at every degree, in all forms, and after training."""

from collections import Counter

import pytest
import torch

from reference import models
from reference.models import Config, batch, text
from reference.models import train as train_serially
from reference.perf.meter import Meter
from reference.tensor_parallel import GPT, whole
from reference.tensor_parallel.dropout import Masks
from reference.tensor_parallel.gpt import Block, drop_tokens
from reference.worlds import LaunchError, launch

from .cases import (
    SEED,
    SMALL,
    allowed,
    off,
    parallel_loss_and_gradients,
    serial_gpt,
    serial_loss_and_gradients,
    tokens,
)

FORMS = {
    "tensor": {},
    "overlap": {"overlap": True},
    "sequence": {"sequence": True},
    "sequence, overlap": {"sequence": True, "overlap": True},
}
CASES = [  # ranks, what is particular about the model, forms
    (1, {}, ["sequence, overlap"]),
    (2, {"tied": False}, list(FORMS)),
    (3, {}, ["tensor", "sequence"]),  # 8 heads, 128 units and 32 tokens of the vocabulary, all padded
    (4, {"kv_heads": 4, "dropout": 0.1}, ["overlap", "sequence"]),
    (4, {"kv_heads": 2}, ["tensor", "sequence, overlap"]),  # two ranks have a copy of each group
    (3, {"kv_heads": 2, "vocabulary": 31, "tied": False}, ["sequence"]),  # the third rank has a group of zeros
    (8, {"kv_heads": 1, "dropout": 0.1}, ["tensor"]),
    (8, {}, ["sequence"]),
]


@pytest.mark.parametrize(
    "ranks, particular, form", [(ranks, particular, form) for ranks, particular, forms in CASES for form in forms]
)
def test_loss_and_gradients_of_the_serial_model(ranks, particular, form):
    config = SMALL._replace(**particular)
    loss, gradients = serial_loss_and_gradients(config)
    for ours, found, _ in launch(parallel_loss_and_gradients, ranks, config, {"pad": True, **FORMS[form]}).results:
        assert abs(ours / loss - 1) < allowed(config, ranks)
        assert off(found, gradients) < allowed(config, ranks) < 1e-11


@pytest.mark.mpi
def test_so_it_is_on_real_ranks():
    config = SMALL._replace(kv_heads=2, dropout=0.1)
    loss, gradients = serial_loss_and_gradients(config)
    for form in (FORMS["overlap"], FORMS["sequence"]):
        ours, found, _ = launch(parallel_loss_and_gradients, 4, config, form, world="mpi").results[3]
        assert abs(ours / loss - 1) < allowed(config, 4) and off(found, gradients) < allowed(config, 4)


def trained(comm, config, steps, how):
    """The losses and all weights after some steps on real text, with Adam's moments on the shards."""
    model = GPT(comm, models.GPT(config, 1).double(), Masks(comm, 5, exact=True), pad=True, **how)
    optimizer, data, losses = torch.optim.Adam(model.parameters(), 1e-3), text(config.length), []
    for step in range(steps):
        part = batch(data, 4, step)
        optimizer.zero_grad()
        total, count = model.loss_sum(part)
        (total / count).backward()
        optimizer.step()
        losses.append(float(total.detach()) / count)
    return losses, {name: whole(comm, parameter) for name, parameter in model.named_parameters()}


@pytest.mark.parametrize("ranks, form", [(2, "sequence, overlap"), (3, "tensor")])
def test_twenty_steps_of_training_are_the_serial_programs(ranks, form):
    config = Config(length=24, width=24, heads=4, kv_heads=2, layers=1, dropout=0.1)
    serial, steps = models.GPT(config, 1).double(), 20
    with torch.random.fork_rng():
        torch.manual_seed(5)
        expected = train_serially(serial, text(24), torch.optim.Adam(serial.parameters(), 1e-3), steps, 4)
    for losses, weights in launch(trained, ranks, config, steps, FORMS[form]).results:
        assert max(abs(a / b - 1) for a, b in zip(losses, expected)) < 1e-10
        assert off(weights, dict(serial.named_parameters())) < 1e-8
    assert expected[-1] < expected[0] - 0.5  # so the weights have moved


# What it is for ----------------------------------------------------------------------------------------------------


def test_each_rank_has_its_part_of_the_weights():
    """A rank that keeps everything, and computes right, has learned nothing of tensor parallelism."""
    h, config = SMALL.width, SMALL._replace(kv_heads=2, tied=False)
    for _, _, found in launch(parallel_loss_and_gradients, 4, config).results:
        assert found["token.weight"] == found["head.weight"] == (32 // 4, h)
        for k in range(config.layers):
            assert found[f"blocks.{k}.attention.qkv.weight"] == ((2 + 2) * h // 8, h)  # 2 heads, and a copy of k and v
            assert found[f"blocks.{k}.attention.out.weight"] == (h, 2 * h // 8)
            assert found[f"blocks.{k}.feed_forward.0.weight"] == (h, h)
            assert found[f"blocks.{k}.feed_forward.2.weight"] == (h, h)
            assert found[f"blocks.{k}.feed_forward.2.bias"] == (h,)


def kept(comm, sequence):
    """Bytes of activations that wait for the backward pass of one block, on this rank."""
    config = SMALL._replace(dropout=0.1)
    block = Block(comm, serial_gpt(config).blocks[0], Masks(comm), sequence=sequence)
    x = torch.ones(2, 24 // (comm.size if sequence else 1), 32, dtype=torch.float64, requires_grad=True)
    with Meter(module=block) as meter:
        y = block(x)
        live = meter.live["activations"]
    return live, y.shape


def test_what_is_kept_inside_the_layers_is_shared_and_with_sequence_all_of_it():
    plain = {P: launch(kept, P, False).results[0][0] for P in (2, 4, 8)}
    inside = 8 * (plain[4] - plain[8])
    outside, stream = plain[8] - inside / 8, 2 * 24 * 32 * 8
    assert all(plain[P] == outside + inside / P for P in plain) and 4 * stream < outside < inside / 4
    for P in plain:
        live, shape = launch(kept, P, True).results[0]
        gathered = 2 * stream * (1 - 1 / P)  # the inputs of both column-parallel layers are kept whole
        assert shape == (2, 24 // P, 32)
        assert abs(live - gathered - (outside + inside) / P) <= stream / P + 1000


def test_dropout_in_training_is_alike_where_the_tokens_are_and_differs_where_each_rank_has_its_own():
    def program(comm, sequence):
        return drop_tokens(comm, Masks(comm, SEED), torch.ones(2, 12, 32), 0.5, sequence)

    alike, apart = (launch(program, 2, sequence).results for sequence in (False, True))
    assert torch.equal(*alike)
    assert 0.4 < (apart[0] == apart[1]).double().mean() < 0.6  # independent masks agree on a half


def test_frozen_parameters_stay_frozen():
    def program(comm):
        serial = serial_gpt()
        for parameter in serial.blocks[0].parameters():
            parameter.requires_grad_(False)
        model = GPT(comm, serial)
        return {name for name, parameter in model.named_parameters() if not parameter.requires_grad}

    frozen = {f"blocks.0.{name}" for name, _ in serial_gpt().blocks[0].named_parameters()}
    assert launch(program, 2).results == [frozen] * 2


# What goes wrong -----------------------------------------------------------------------------------------------------


def test_ranks_that_are_given_different_tokens_are_told():
    def program(comm):
        model = GPT(comm, serial_gpt())
        data = tokens()
        if comm.rank == 1:
            data.x[0, 0] += 1
        model.loss_sum(data)

    with pytest.raises(LaunchError, match=r"tokens of a tensor-parallel group must be alike .* rank\(s\) \[1\]"):
        launch(program, 2)


def test_ranks_that_are_given_sequences_of_different_length_are_told():
    with pytest.raises(LaunchError, match="tokens of a tensor-parallel group must be alike on all ranks"):
        launch(lambda comm: GPT(comm, serial_gpt()).loss_sum(tokens(s=20 + comm.rank)), 2)


@pytest.mark.parametrize(
    "ranks, particular, words",
    [
        (3, {}, "32 tokens of the vocabulary cannot be shared equally by 3 ranks: take a .* that divides 32, or pad"),
        (3, {"vocabulary": 33}, "8 heads in 8 groups .* cannot be shared equally by 3 ranks.*heads of zeros: 1 more"),
        (4, {"heads": 4, "kv_heads": 1, "width": 24, "vocabulary": 30}, "30 tokens of the vocabulary cannot be shared"),
        (16, {"width": 64}, "8 heads in 8 groups of keys and values cannot be shared equally by 16 ranks"),
    ],
)
def test_what_the_degree_does_not_divide_is_refused_in_one_line(ranks, particular, words):
    with pytest.raises(LaunchError, match=rf"on ranks 0, 1.*{words}") as error:
        launch(lambda comm: GPT(comm, models.GPT(SMALL._replace(**particular))), ranks)
    assert str(error.value).splitlines()[0].count("Error") == 1  # on every rank the same


def test_sequences_that_cannot_be_cut_are_refused():
    with pytest.raises(LaunchError, match="3 ranks cannot share 4 elements of dimension 1"):
        launch(lambda comm: GPT(comm, serial_gpt(), sequence=True, pad=True).loss_sum(tokens(s=4)), 3)
    with pytest.raises(LaunchError, match="a sequence of 25 tokens; this model has positions for 24"):
        launch(lambda comm: GPT(comm, serial_gpt()).loss_sum(tokens(s=25)), 2)


def test_padding_stays_zero():
    """A weight from or to a unit that is always 0 has no gradient; so Adam leaves it where it is."""

    def program(comm):
        model = GPT(comm, serial_gpt(), pad=True)
        optimizer = torch.optim.Adam(model.parameters(), 0.1)
        for _ in range(2):
            optimizer.zero_grad()
            model.loss_sum(tokens())[0].backward()
            optimizer.step()
        found = Counter()
        for parameter in model.parameters():
            if place := getattr(parameter, "shard", None):
                padding = torch.tensor(place.own) == -1
                values = parameter.detach().movedim(place.dim, 0)[padding]
                found[bool((values == 0).all())] += values.numel()
        return found

    found = sum(launch(program, 3).results, Counter())
    assert found[True] > 500 and not found[False]


def test_logits_are_those_of_the_serial_model_without_the_padding():
    serial = serial_gpt(SMALL._replace(vocabulary=31, dropout=0.1)).eval()  # nothing is dropped after training
    x = tokens(serial.config).x
    with torch.no_grad():
        for found in launch(lambda comm: GPT(comm, serial, pad=True).eval().logits(x).detach(), 3).results:
            assert found.shape == (2, 24, 31)
            assert (found - serial(x)).abs().max() < 1e-12
