"""Policies: the bits of training that keeps everything, alone, under tensor parallelism, with ZeRO; what each keeps."""

from functools import cache
from math import sqrt

import pytest
import torch

from reference import models
from reference.models import Config, Data, loss_sum
from reference.perf.meter import Meter
from reference.recompute.policies import RecomputePolicy, policy, recompute
from reference.tensor_parallel import GPT
from reference.tensor_parallel.dropout import Masks
from reference.worlds import launch
from reference.zero.stage2 import Stage2
from reference.zero.stage3 import Stage3
from reference.zero.state import full_state

CONFIG = Config(vocabulary=50, length=16, width=16, heads=4, layers=5, dropout=0.1, kv_heads=2)
POLICIES = ["none", "full", "selective", "every:2", "every:9", "sqrt"]
B, S, H = 2, 12, CONFIG.width


def tokens(r=0):
    return Data(*torch.randint(CONFIG.vocabulary, (2, B, S), generator=torch.Generator().manual_seed(r)))


@cache
def step(words, config=CONFIG):
    """Loss and gradients; bytes of activations between forward and backward; FLOPs."""
    model = models.GPT(config, 1)
    names = [name for name, _ in model.named_parameters()]
    recompute(model, words)
    assert [name for name, _ in model.named_parameters()] == names
    torch.manual_seed(3)
    with Meter(module=model) as meter:
        loss, _ = loss_sum(model, tokens())
        kept = meter.live["activations"]
        loss.backward()
    return [loss.detach(), *(w.grad for w in model.parameters()), torch.rand(2)], kept, meter.total.flops


@pytest.mark.parametrize("words", POLICIES[1:])
def test_gradients_have_the_bits_of_keeping_everything(words):
    assert all(map(torch.equal, step("none")[0], step(words)[0]))


@pytest.mark.parametrize("form", [{}, {"sequence": True}, {"overlap": True}], ids=str)
def test_so_they_have_under_tensor_parallelism(form):
    def program(comm, words):
        model = recompute(GPT(comm, models.GPT(CONFIG, 1), Masks(comm, 5), **form), words)
        loss, _ = model.loss_sum(tokens())
        loss.backward()
        return [loss.detach(), *(w.grad for w in model.parameters())]

    plain = launch(program, 2, "none").results
    for words in ("full", "selective", "every:2"):
        for expected, found in zip(plain, launch(program, 2, words).results, strict=True):
            assert all(map(torch.equal, expected, found)), words


@pytest.mark.parametrize("kind", [Stage2, Stage3])
def test_so_they_have_with_zero(kind):
    def program(comm, words):
        model = recompute(models.GPT(CONFIG, 1), words)
        stage = kind(comm, model, lambda weights: torch.optim.SGD(weights, 0.1))
        for r in range(2):
            torch.manual_seed(r)
            stage.backward(*loss_sum(model, tokens(comm.rank)))
            stage.step()
        return list(full_state(stage)["module"].values())

    plain = launch(program, 2, "none").results
    for words in ("full", "selective", "every:2"):
        for expected, found in zip(plain, launch(program, 2, words).results, strict=True):
            assert all(map(torch.equal, expected, found)), words


# What each keeps ------------------------------------------------------------------------------------------------------


def kept_of_blocks(words, L):
    """Bytes that L blocks keep, in float32, without dropout."""
    config = CONFIG._replace(dropout=0.0, kv_heads=None)
    return step(words, config._replace(layers=L))[1] - step(words, config._replace(layers=0))[1]


BSH = 4 * B * S * H  # bytes of one [b, s, h]


def test_bytes_that_a_block_keeps():
    """Of 16 [b, s, h] and some statistics two are outputs of norms and four of GELU.

    A flash kernel leaves no scores, so computing attention again frees one number for each of their rows.
    """
    norms = 2 * 2 * 4 * B * S  # mean and deviation of two norms
    row = 4 * B * S * CONFIG.heads  # attention's sum of exponentials
    assert kept_of_blocks("none", 3) == 3 * (16 * BSH + norms + row)
    assert kept_of_blocks("selective", 3) == 3 * (10 * BSH + norms)
    assert kept_of_blocks("full", 3) == 3 * BSH


def test_scores_that_attention_keeps_are_freed():
    """With dropout there is no flash kernel on the CPU: weights, their masks and what comes of both are kept."""
    plain, selective = (step(words, CONFIG._replace(kv_heads=None))[1] for words in ("none", "selective"))
    assert plain - selective > CONFIG.layers * (6 * BSH + 2 * 4 * B * CONFIG.heads * S * S)


@pytest.mark.parametrize("words, L, runs", [("every:2", 4, 2), ("every:2", 5, 3), ("sqrt", 9, 3), ("every:9", 4, 1)])
def test_runs_keep_one_input_each(words, L, runs):
    assert kept_of_blocks(words, L) == runs * BSH


def test_flops_of_computing_again():
    """full: the blocks' forward pass again. selective: attention's products only."""
    config = CONFIG._replace(dropout=0.0)
    plain, full, selective = (step(words, config)[2] for words in ("none", "full", "selective"))
    with Meter() as meter, torch.no_grad():
        models.GPT(config).blocks(torch.zeros(B, S, H))
    assert full - plain == meter.total.flops
    assert selective - plain == CONFIG.layers * 4 * B * S * S * H


def test_sqrt_is_the_nearest_whole_number():
    assert all(RecomputePolicy("sqrt").run(L) == round(sqrt(L)) for L in range(1, 200))


def test_words():
    assert policy("every:3") == ("every", 3) and policy("every:3").run(2) == 2 and policy("none").run(7) == 0
    for words in ("every", "every:0", "every:x", "every:K", "some", "full:2", "every:²"):
        with pytest.raises(ValueError, match="recompute is one of none, full, selective, every:K, sqrt"):
            policy(words)
