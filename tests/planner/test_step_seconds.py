"""The cost model's terms against the closed forms and the simulator of earlier chapters; data files; bad input."""

from __future__ import annotations

import pytest

from reference.pipeline.analysis.formulas import idle
from reference.pipeline.simulate import Costs
from reference.planner.architecture import architecture, read_architectures
from reference.planner.cluster import NetworkLevel, cluster, read_clusters
from reference.planner.predict import predict
from reference.planner.spec import LayoutSpec
from reference.planner.step_seconds import head_seconds, layer_seconds, step_seconds

DGX = cluster("dgx-a100")


def test_parameters_of_known_models():
    assert architecture("llama3-8b").parameters() == 8_030_261_248
    assert architecture("llama2-70b").parameters() == 68_976_648_192
    assert architecture("gpt-175b").parameters() == pytest.approx(175e9, rel=0.01)


def test_flops_of_table_1_of_megatron():
    """96 B L s h^2 (1 + s/6h + V/16Lh) with full recomputation, of which 3/4 are the model's own, but for the head."""
    model = architecture("gpt-146b")
    h, L, s, V = model.width, model.layers, model.length, model.vocabulary
    own = 72 * L * s * h * h * (1 + s / (6 * h) + V / (12 * L * h))
    assert s * model.flops_a_token() == pytest.approx(own, rel=1e-9)


@pytest.mark.parametrize("p, v, schedule", [(4, 1, "1F1B"), (4, 2, "interleaved 1F1B"), (4, 1, "GPipe")])
def test_bubble_and_sends_are_those_of_chapter_9(p, v, schedule):
    """Stages without a head, as the closed forms have them; they are held against the simulator there."""
    model = architecture("llama2-7b")._replace(vocabulary=1)
    spec, m = LayoutSpec(stages=p, chunks=v, schedule="GPipe" if schedule == "GPipe" else "1F1B"), 8
    layer = layer_seconds(model, spec, DGX)
    one = model.layers / p
    c = DGX.message(1).send(2 * model.length * model.width)
    F, B = one * layer.forward, one * layer.backward
    lost = idle(schedule, p, m, v, Costs(F=F, I=B, W=0.0, send=c))
    got = step_seconds(model, spec, DGX, m)
    assert got.bubble + got.sends == pytest.approx(lost, rel=1e-9)


def test_terms_add_up_and_grow_as_they_must():
    model, spec = architecture("llama3-8b"), LayoutSpec(data=2, tensor=4, stages=2, zero=1)
    got = step_seconds(model, spec, DGX, 16)
    assert sum(got) == got.total and min(got) >= 0
    twice = step_seconds(model, spec, DGX, 32)
    assert twice.matmul == pytest.approx(2 * got.matmul) and twice.bubble == got.bubble
    layer, head = layer_seconds(model, spec, DGX), head_seconds(model, spec, DGX)
    assert got.matmul == pytest.approx(8 * (16 * sum(layer.matmul) + sum(head.matmul)))
    full = step_seconds(model, spec._replace(recompute="full"), DGX, 16)
    assert full.recompute == pytest.approx(8 * 16 * layer.forward)


def test_a_group_over_nodes_gets_the_ports_of_its_members_there():
    """64 ranks in a row have 8 ports a node between them, every eighth rank of them one."""
    nvlink, port = (level.bandwidth * level.efficiency for level in DGX.levels)
    assert DGX.path((8, 1)).bandwidth == nvlink
    assert DGX.path((64, 1)).bandwidth == min(nvlink, 8 * port)
    assert DGX.path((8, 8)).bandwidth == port
    assert DGX.path((8, 8)).latency == 7 * DGX.levels[1].latency
    assert DGX.path((2, 4), (4, 1)).bandwidth == nvlink  # two axes that fill a node


def test_data_files_refuse_what_cannot_be():
    with pytest.raises(ValueError, match=r"no model is called 'gpt-5'; there are: gpt-1.7b, "):
        architecture("gpt-5")
    with pytest.raises(ValueError, match=r"no machine is called 'abacus'"):
        cluster("abacus")
    with pytest.raises(ValueError, match="heads is a whole number from 1 on, got 0"):
        read_architectures("[x]\nlayers=2\nwidth=8\nheads=0\nvocabulary=9\nlength=4")
    with pytest.raises(ValueError, match="it needs layers, width"):
        read_architectures("[x]\nlayers=2\ndepth=8")
    with pytest.raises(ValueError, match="levels join more and more ranks, the last all"):
        read_clusters('[x]\naccelerator="A100 SXM"\nranks_per_node=8\nlevels=[{name="a",ranks=8,bandwidth=1.0}]')
    assert NetworkLevel("a", 0, 1.0).efficiency == 1.0


@pytest.mark.parametrize(
    "changed, batch, words",
    [
        ({"tensor": 3}, 8, "tensor = 3 must divide the 32 heads"),
        ({"stages": 5}, 8, r"5 stages of 1 chunks must divide 32 layers; .*\[1, 2, 4, 8, 16, 32\]"),
        ({"data": 3}, 8, "cannot be dealt to data = 3 ranks"),
        ({"stages": 4, "chunks": 2}, 6, "micro-batches in multiples of 4, got 6"),
        ({"context": 3}, 8, "multiple of 6, got 8192"),
        ({"micro_batch": 0}, 8, "are 1 or more"),
        ({"recompute": "some"}, 8, "recompute is one of none"),
    ],
)
def test_layouts_that_cannot_be_say_why(changed, batch, words):
    with pytest.raises(ValueError, match=words):
        predict(architecture("llama3-8b"), DGX, LayoutSpec()._replace(**changed), batch)


def test_a_prediction_says_whether_it_fits_and_what_limits_it():
    small = predict(architecture("llama3-8b"), DGX, LayoutSpec(data=8, zero=3, recompute="full"), 8)
    assert small.fits and small.limit == "recompute" and 0.3 < small.mfu < 0.75
    large = predict(architecture("gpt-175b"), DGX, LayoutSpec(data=8), 8)
    assert not large.fits and large.limit == "memory"
    assert large.tokens_per_second == pytest.approx(8 * 2048 / large.seconds.total)


@pytest.mark.parametrize(
    "sequence, recompute, forward, backward",
    [
        (False, "none", 7.7, 11.9),
        (False, "full", 7.7, 19.5),
        (False, "selective", 7.7, 13.2),
        (True, "selective", 7.2, 13.1),
    ],
)
def test_layer_times_of_korthikanti_table_4(sequence, recompute, forward, backward):
    """Milliseconds of a layer of the model of 22 billion parameters, 8 ranks, 4 sequences. Nobody fitted them."""
    spec = LayoutSpec(tensor=8, micro_batch=4, recompute=recompute, sequence_parallel=sequence, flash=False)
    layer = layer_seconds(architecture("gpt-22b"), spec, DGX)
    assert 1e3 * layer.forward == pytest.approx(forward, rel=0.04)
    assert 1e3 * (layer.forward + layer.backward) == pytest.approx(forward + backward, rel=0.025)


def test_e1_07_the_least_compute_and_messages_do_not_choose_the_stages():
    """Of GPT-3 on 64 accelerators, t = 8: the number of stages that computes and sends least does not fit."""
    model, found = architecture("gpt-175b"), {}
    for p in (1, 2, 4, 8):
        spec = LayoutSpec(data=8 // p, tensor=8, stages=p, recompute="full")
        found[p] = predict(model, DGX, spec, 64)
    sums = {p: x.seconds.compute + x.seconds.tensor + x.seconds.sends for p, x in found.items()}
    assert min(sums, key=sums.get) == 1 and not found[1].fits  # no messages between stages, and no bubble counted
    assert [p for p, x in found.items() if x.fits] == [8]
    assert found[8].seconds.bubble > 10 * found[8].seconds.sends  # the bubble is the larger price, and is left out
    assert "must divide 96 layers" in LayoutSpec(stages=7).trouble(model, DGX, 64)
    assert "must divide the 96 heads" in LayoutSpec(tensor=64).trouble(model, DGX, 64)


def test_e2_08_context_and_sharding_have_messages_of_their_own():
    """On a slow network each axis has its own exposed term: all-reduces, messages, hops of keys, gathers of weights."""
    slow = DGX._replace(levels=tuple(level._replace(bandwidth=1e8) for level in DGX.levels))
    model, spec = architecture("llama3-8b"), LayoutSpec(2, 2, 2, 2, zero=1)
    got = step_seconds(model, spec, slow, 4)
    assert min(got.tensor, got.sends, got.context, got.data) > 0
    assert step_seconds(model, spec._replace(context=1), slow, 4).context == 0
    assert step_seconds(model, LayoutSpec(data=8, zero=3), slow, 8).zero > 0


@pytest.mark.parametrize("flash, times", [(True, 2.5), (False, 2)])
def test_attention_backward_is_twice_the_products_and_flash_computes_scores_again(flash, times):
    quick = DGX._replace(accelerator=DGX.accelerator._replace(bandwidth=1e30))  # moving bytes costs nothing
    forward, backward = layer_seconds(architecture("gpt-22b"), LayoutSpec(flash=flash), quick).attention
    assert backward == pytest.approx(times * forward)
