"""Runs that show why common accounts of recomputation are wrong; the list is book/errata*.md."""

from functools import cache

import pytest
import torch

from reference import models
from reference.models import Config, Data, loss_sum
from reference.perf.meter import Meter
from reference.recompute.policies import OutputDropped, recompute
from reference.tensor_parallel import GPT
from reference.tensor_parallel.dropout import Masks
from reference.worlds import launch

CONFIG = Config(vocabulary=40, length=12, width=32, heads=2, layers=9)
B, S, H = 2, 12, CONFIG.width
TOKENS = Data(*torch.randint(CONFIG.vocabulary, (2, B, S), generator=torch.Generator().manual_seed(4)))
BSH = 4 * B * S * H  # bytes of one [b, s, h] in float32


def step(change=lambda model: None, config=CONFIG):
    """Bytes kept between forward and backward, FLOPs of the forward pass and of the whole step."""
    model = models.GPT(config)
    change(model)
    with Meter(module=model) as meter:
        loss, _ = loss_sum(model, TOKENS)
        kept, forward = meter.live["activations"], meter.total.flops
        loss.backward()
    return kept, forward, meter.total.flops


@cache
def kept(words, L=CONFIG.layers):
    return step(lambda model: recompute(model, words), CONFIG._replace(layers=L))[0]


def test_e0_12_e0_40_full_recomputation_doubles_the_forward_pass_and_adds_less_than_a_third_to_the_step():
    _, forward, plain = step()
    _, _, again = step(lambda model: recompute(model, "full"))
    blocks = forward - 2 * B * S * H * CONFIG.vocabulary  # all but the head
    assert again - plain == blocks
    assert 1.3 < again / plain < 4 / 3  # flash attention's backward pass is more than twice its forward pass


def test_e0_12_under_tensor_parallelism_a_layer_sums_six_times_instead_of_four():
    def program(comm, words):
        model = recompute(GPT(comm, models.GPT(CONFIG._replace(layers=3)), Masks(comm)), words)
        model.loss_sum(TOKENS)[0].backward()

    calls = {words: launch(program, 2, words).calls[0]["Allreduce"] for words in ("none", "full", "selective")}
    assert calls["full"] - calls["none"] == 3 * 2 and calls["selective"] == calls["none"]


def test_e0_40_what_is_dear_to_keep_is_the_heart_of_attention_and_its_masks_must_be_drawn_again():
    """With dropout: to drop the outputs of GELU alone frees 4 of them; scores, weights and masks are far more."""
    config = CONFIG._replace(dropout=0.1, length=64)
    tokens = Data(*torch.randint(CONFIG.vocabulary, (2, B, 64)))

    def bytes_of(change):
        model = models.GPT(config)
        change(model)
        with Meter(module=model) as meter:
            loss = loss_sum(model, tokens)[0]
            kept = meter.live["activations"]
        return loss is not None and kept

    def gelu(model):
        for block in model.blocks:
            OutputDropped(block.feed_forward[1], block.feed_forward[2])

    plain, some, selective = map(bytes_of, (lambda model: None, gelu, lambda model: recompute(model, "selective")))
    assert plain - some == config.layers * 4 * 4 * B * 64 * H
    assert plain - selective > 3 * (plain - some)


@pytest.mark.parametrize("k, most", [(1, 9 * 1 + 16), (3, 3 + 3 * 16), (9, 1 + 9 * 16)])
def test_e4_20_every_k_layers_is_a_root_for_one_k_only(k, most):
    """N / k inputs, and k records while a run is computed again, in [b, s, h], of which a record has 16.

    Backward passes add the gradients of what one block has inside: some 10. A record has statistics, too.
    """
    ends = kept("none", 0)
    assert kept(f"every:{k}") - ends == -(-9 // k) * BSH
    model = recompute(models.GPT(CONFIG), f"every:{k}")
    with Meter(module=model) as meter:
        loss_sum(model, TOKENS)[0].backward()
    assert most * BSH < meter.peak["activations"] - ends < (most + 12) * BSH


def test_e4_20_the_root_is_least_if_a_record_weighs_as_much_as_an_input():
    peaks = {k: 36 / k + k for k in range(1, 37)}
    assert min(peaks, key=peaks.get) == 6 and peaks[1] > 3 * peaks[6]
    heavier = {k: 36 / k + 16 * k for k in range(1, 37)}
    assert min(heavier, key=heavier.get) == 2 and heavier[6] > 2 * heavier[2]  # a block of a GPT keeps 16 [b, s, h]


def test_e4_27_dear_layers_free_no_more_bytes_and_cost_all_the_flops():
    """Beside each other: GELU's output, and what the product before it puts out. Both have 4 b s h elements."""

    def cheap(model):
        for block in model.blocks:
            OutputDropped(block.feed_forward[1], block.feed_forward[2])

    def dear(model):
        for block in model.blocks:
            OutputDropped(block.feed_forward[0], block.feed_forward[1])

    (plain, _, flops), (one, _, cheaply), (other, _, dearly) = step(), step(cheap), step(dear)
    assert plain - one == plain - other == CONFIG.layers * 4 * BSH
    assert cheaply == flops and dearly - flops == CONFIG.layers * 2 * B * S * H * 4 * H
