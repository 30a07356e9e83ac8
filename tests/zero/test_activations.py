"""Partitioned activation checkpointing: the gradients of plain training, a P-th of the checkpoints, bytes foretold."""

from collections import Counter
from math import inf

import pytest
import torch

from reference import models
from reference.models import Config, loss_sum
from reference.perf.meter import Meter
from reference.perf.roofline import Device
from reference.tensor_parallel import GPT
from reference.tensor_parallel.dropout import Masks
from reference.tiers import CopyEngines, Tier
from reference.worlds import LaunchError, launch
from reference.zero.activations import (
    Away,
    Rows,
    checkpoint,
    checkpoint_blocks,
    gathered,
    kept_bytes,
    own_piece,
    recomputed,
    whole,
)

from ..tensor_parallel.cases import SEED, SMALL, serial_gpt, tokens

B, S, H = 2, 21, SMALL.width  # 21 tokens: 1,344 elements, which 5 does not divide
CONFIG = SMALL._replace(dropout=0.1)


def gradients(comm, config, how, keep=None, wrap=checkpoint_blocks):
    """Loss and gradients on this rank; how: "plain", "whole" or "partitioned" checkpoints, with sequence or without."""
    model = GPT(comm, serial_gpt(config), Masks(comm, SEED), pad=True, sequence="sequence" in how)
    if "plain" not in how:
        wrap(model, None if "whole" in how else comm, **({"keep": keep()} if keep else {}))
    loss, _ = model.loss_sum(tokens(config, B, 24 if "sequence" in how else S))
    loss.backward()
    return loss.detach(), [parameter.grad for parameter in model.parameters()]


def same(first, second):
    return torch.equal(first[0], second[0]) and all(map(torch.equal, first[1], second[1]))


@pytest.mark.parametrize("P", [1, 2, 3, 5, 8])
def test_gradients_have_the_bits_of_training_without_checkpoints(P):
    plain = launch(gradients, P, CONFIG, "plain").results
    found = launch(gradients, P, CONFIG, "partitioned").results
    assert all(map(same, plain, found))


def test_so_have_they_with_sequence_parallelism_where_nothing_is_gathered():
    plain = launch(gradients, 2, CONFIG, "plain, sequence")
    found = launch(gradients, 2, CONFIG, "partitioned, sequence")
    assert all(map(same, plain.results, found.results))
    forward = {"Allgather": 2 * CONFIG.layers, "Reduce_scatter_block": 2 * CONFIG.layers}
    assert Counter(found.calls[0]) - Counter(plain.calls[0]) == forward  # the forward pass of the blocks, again


@pytest.mark.mpi
def test_so_it_is_on_real_ranks():
    plain = launch(gradients, 3, CONFIG, "plain", world="mpi").results
    assert all(map(same, plain, launch(gradients, 3, CONFIG, "partitioned", world="mpi").results))


def test_masks_that_are_not_restored_make_other_gradients():
    def forgetful(model, comm):
        for block in model.blocks:
            block.forward = (lambda forward: lambda x: checkpoint(comm, forward, x))(block.forward)

    plain = launch(gradients, 2, CONFIG, "plain").results
    found = launch(gradients, 2, CONFIG, "partitioned", None, forgetful).results
    assert all(torch.equal(a[0], b[0]) and not same(a, b) for a, b in zip(plain, found))  # the loss shows nothing


def test_a_serial_model_whose_dropout_draws_from_the_global_generator():
    config, found = CONFIG._replace(heads=4), []
    for wrapped in (False, True):
        model = models.GPT(config, 1)
        torch.manual_seed(SEED)
        loss_sum(checkpoint_blocks(model, None) if wrapped else model, tokens(config))[0].backward()
        found.append([parameter.grad for parameter in model.parameters()] + [torch.rand(3)])
    assert all(map(torch.equal, *found))  # and the generator goes on from where it would have been


# What it is for ----------------------------------------------------------------------------------------------------


def held(comm, P_a, layers):
    """Bytes of activations between forward and backward, and at the peak, for a chain of blocks on x [B, S, H]."""
    model = GPT(comm, serial_gpt(CONFIG._replace(layers=layers)), Masks(comm, SEED), pad=True)
    model = checkpoint_blocks(model, comm if P_a else None)
    with Meter(module=model) as meter:
        y = model.blocks(torch.ones(B, S, H, dtype=torch.float64, requires_grad=True))
        between = meter.live["activations"] - y.nbytes
        y.backward(torch.ones_like(y))
    return between, meter.peak["activations"]


@pytest.mark.parametrize("P", [2, 5])
def test_bytes_kept_equal_the_formula(P):
    for P_a in (False, True):
        two, four = (launch(held, P, P_a, layers).results[0] for layers in (2, 4))
        more = kept_bytes(P if P_a else 1, B, S, H, 2, 8)
        assert [after - before for before, after in zip(two, four)] == [more, more]


def test_rows_of_one_buffer_keep_all_pieces_and_are_used_again():
    def program(comm):
        rows = Rows(CONFIG.layers, -(-B * S * H // comm.size), torch.float64)
        model = checkpoint_blocks(GPT(comm, serial_gpt(CONFIG), Masks(comm, SEED), pad=True), comm, rows)
        for step in range(2):
            model.zero_grad()
            loss, _ = model.loss_sum(tokens(CONFIG, B, S))
            taken = len(rows.buffer) - len(rows.vacant)
            loss.backward()
            if not step:
                found = loss.detach(), [parameter.grad for parameter in model.parameters()]
        return found, taken, len(rows.vacant)

    plain = launch(gradients, 3, CONFIG, "plain").results
    for expected, (found, taken, vacant) in zip(plain, launch(program, 3).results):
        assert same(expected, found) and taken == vacant == CONFIG.layers


def away(comm, layers, copy_seconds):
    """Gradients, bytes of activations between forward and backward, bytes that were copied away and back."""
    config, nbytes = CONFIG._replace(layers=layers), kept_bytes(comm.size, B, S, H, 1, 8)
    rate = nbytes / copy_seconds if copy_seconds else inf
    engines = CopyEngines(comm, Tier("host", rate, rate))
    model = GPT(comm, serial_gpt(config), Masks(comm, SEED), pad=True)
    checkpoint_blocks(model, comm, Away(engines))
    with Meter(comm, Device(1e9, 1e9), model) as meter:
        loss, _ = model.loss_sum(tokens(config, B, S))
        engines.writes.drain()
        between = meter.live["activations"]
        loss.backward()
    return (loss.detach(), [p.grad for p in model.parameters()]), between, engines.bytes_down, engines.bytes_up


def test_pieces_in_another_tier_leave_nothing_behind():
    plain, nbytes = launch(gradients, 3, CONFIG, "plain").results, kept_bytes(3, B, S, H, 2, 8)
    two, four = (launch(away, 3, layers, 0).results for layers in (2, 4))
    for expected, (found, _, down, up) in zip(plain, two):
        assert same(expected, found) and down == up == nbytes
    assert two[0][1] == four[0][1]  # bytes between forward and backward, whatever the number of blocks


def test_a_piece_comes_back_while_the_block_behind_it_is_computed():
    """Of the eight copies of four blocks one is waited for, the first one back, if each is shorter than a block."""
    free = launch(away, 1, 4, 0).seconds
    copy = free / 100
    assert launch(away, 1, 4, copy).seconds - free == pytest.approx(copy, rel=1e-6)


def test_a_row_too_few_is_refused():
    with pytest.raises(LaunchError, match="all 1 rows are taken: allocate one for each block"):
        launch(gradients, 2, CONFIG, "partitioned", lambda: Rows(1, B * S * H, torch.float64))


@pytest.mark.parametrize("P", [2, 3, 8])
def test_one_all_gather_a_block_is_added_to_what_tensor_parallelism_sends(P):
    runs = {how: launch(gradients, P, CONFIG, how) for how in ("plain", "whole", "partitioned")}
    sent = {how: sum(run.bytes_sent) for how, run in runs.items()}
    extra = gathered(P, B, S, H)
    assert sent["partitioned"] - sent["whole"] == CONFIG.layers * 8 * extra.elements
    assert Counter(runs["partitioned"].calls[0]) - Counter(runs["whole"].calls[0]) == {"Allgather": CONFIG.layers}
    own = recomputed(P, B, S, CONFIG)
    assert own.elements == 12 * (P - 1) * B * S * H and own.calls == {"Allreduce": 6}
    assert sent["whole"] - sent["plain"] == CONFIG.layers * 8 * own.elements // 3
    padding = -(B * S * H) % P
    assert extra.elements == own.elements // 12 + (P - 1) * padding


def test_the_papers_example_in_two_bytes_an_element():
    """100B: 125 layers of 8,192, b = 32, s = 1,024: 33.6e9 elements. Its 33 GB and 2 GB count one byte for each."""
    assert round(kept_bytes(1, 32, 1024, 8192, 125) / 1e9, 1) == 67.1
    assert round(kept_bytes(16, 32, 1024, 8192, 125) / 1e9, 1) == 4.2
    assert round(kept_bytes(1, 32, 1024, 8192, 125, 1) / 1e9, 1) == 33.6


# Corners -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.int64], ids=str)
@pytest.mark.parametrize("shape", [(5, 3), (1,), (2, 2, 2), ()], ids=str)
def test_pieces_make_the_whole(dtype, shape):
    def program(comm):
        x = torch.arange(15, dtype=dtype)[: max(1, torch.Size(shape).numel())].view(shape)
        piece = own_piece(comm, x)
        piece_bytes = piece.untyped_storage().nbytes()
        return torch.equal(whole(comm, piece, x.shape), x) and piece_bytes == -(-x.numel() // comm.size) * x.itemsize

    assert all(launch(program, 4).results)


def test_models_that_are_checkpointed_keep_their_parameters_names():
    names = [name for name, _ in models.GPT(Config()).named_parameters()]
    assert [name for name, _ in checkpoint_blocks(models.GPT(Config()), None).named_parameters()] == names
