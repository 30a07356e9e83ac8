"""Claims of chapter 12's core page that its cells do not show, each with the run that could refute it."""

import json
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

from reference.recompute.binomial import revolve
from reference.recompute.chain import Chain, LinkCost, keep_all
from reference.recompute.periodic import periodic
from reference.recompute.predict import cost
from reference.recompute.rotor import rotor
from reference.tiers import Tier, tier
from reference.worlds import launch

PAGE = Path(__file__).parents[2] / "chapters/12_memory_tiers.ipynb"


@cache
def page(*cells) -> dict[str, Any]:
    """What the named cells of the page define."""
    sources = {cell["id"]: "".join(cell["source"]) for cell in json.loads(PAGE.read_text())["cells"]}
    names: dict[str, Any] = {}
    for cell in ("z12-01", *cells):
        exec(sources[cell], names)
    return names


def chain_of(sizes):
    return Chain(tuple(LinkCost(1, 2, size, 2 * size) for size in sizes))


def test_a_list_sorted_by_price_may_take_four_times_as_long():
    parts = page("z12-12", "z12-14")
    freed, again, total = parts["freed"], parts["again"], parts["total"]

    def ratio(share):
        ordered = sorted(freed, key=lambda name: again[name] / freed[name])
        sums = np.cumsum([freed[name] for name in ordered])
        listed = sum(again[name] for name in ordered[: 1 + int((sums < share * total).sum())])
        return listed / np.dot(parts["cheapest"](share * total), [*again.values()])

    assert ratio(0.5) == pytest.approx(1.07, abs=0.005) and ratio(0.07) == pytest.approx(4.03, abs=0.01)
    assert freed["scores, softmax, dropout"] / total == pytest.approx(0.85, abs=0.002)


def test_equal_pieces_need_577_because_the_first_layers_are_large():
    sizes = [64 >> 2 * (i // 6) for i in range(24)]
    chain, even = chain_of(sizes), chain_of([sum(sizes) / 24] * 24)
    assert min(cost(chain, periodic(24, k)).peak for k in range(1, 25)) == 577
    peaks = {k: cost(even, periodic(24, k)).peak for k in range(1, 25)}
    assert min(peaks, key=peaks.__getitem__) == 3 and round(peaks[3]) == 361
    assert cost(even, keep_all(24)).peak == pytest.approx(1531, rel=0.02)
    assert cost(chain, rotor(chain, 577)).seconds == 78
    passes = [cost(chain, revolve(24, c)).forwards / 24 for c in (12, 2)]
    assert passes == pytest.approx([2.4, 4.7], abs=0.05)


def test_what_slow_copies_wait_for():
    names = page("z12-24", "z12-24a")

    def step_ms(budget, down, back):
        names["Tier"] = lambda name, *rates: Tier(name, 32 * 1024 / back * 1e3, 32 * 1024 / down * 1e3)
        return launch(names["step_ms"], 1, budget * 1024, 1.0).results[0][0]

    assert step_ms(128, 2, 2) == pytest.approx(57) and step_ms(128, 1, 2) == pytest.approx(48)
    assert step_ms(128, 2, 1) > 50  # the way down alone
    assert step_ms(64, 0.5, 0.5) == pytest.approx(55) and step_ms(96, 1, 1) == pytest.approx(48)


def test_lru_never_hits_a_loop_for_which_one_place_is_missing():
    policies = page("z12-28")
    trace = list(range(100)) * 20
    assert [policies["lru"](trace, room) for room in (10, 40, 99, 100)] == [0, 0, 0, 0.95]
    assert policies["belady"](trace, 40) == 40 * 19 / 2000
    for seed in range(5):
        popular = 1 / np.arange(1, 101)
        draws = np.random.default_rng(seed).choice(100, 2000, p=popular / popular.sum())
        assert 0.71 < policies["lru"](draws, 40) < 0.77 and 0.85 < policies["belady"](draws, 40) < 0.88


def test_240_tb_take_two_seconds_of_each_pass_and_a_fifth_of_what_is_left_a_ninth_of_the_forward_pass():
    assert 240e12 / 2048 / tier("host, PCIe 5").read == pytest.approx(1.9, abs=0.05)
    h, s = 8192, 32_768
    whole = 80 * 22 * s * h / 8 / 1e9
    moved = (1 - (0.8 * 80 - 17.5) / whole) * 22 * h / tier("host, PCIe 5").write
    assert moved / ((24 * h * h + 2 * h * s) / (0.4 * 989e12)) == pytest.approx(1 / 9, rel=0.03)


def test_a_generator_of_its_own_draws_again_and_a_batch_norm_counts_twice():
    generator, masks = torch.Generator().manual_seed(0), []

    def drop(x):
        masks.append(torch.rand(x.shape, generator=generator) > 0.5)
        return (x * masks[-1]).sin()

    norm = nn.BatchNorm1d(4)
    for block in (drop, norm):
        checkpoint(block, torch.randn(8, 4, requires_grad=True), use_reentrant=False).sum().backward()
    assert not torch.equal(*masks) and norm.num_batches_tracked == 2
