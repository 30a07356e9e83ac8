"""Command lines: what Megatron-Core and torchtitan are told is the layout, number by number."""

import re

import pytest

from reference.planner.architecture import architecture
from reference.planner.command_lines import command_lines
from reference.planner.spec import RECOMPUTE, LayoutSpec

GPT, LLAMA = architecture("gpt-175b"), architecture("llama3-70b")


def options(line):
    """What a command sets: option -> its value, "" for a flag."""
    return {
        name: value.strip() for name, value in re.findall(r"--([\w.-]+)((?: (?!--|-m |activation)\S+)?)", str(line))
    }


def told(spec, model=GPT, batch=1536, node=8):
    megatron, torchtitan = command_lines(model, spec, batch, node)
    return options(megatron), options(torchtitan), megatron, torchtitan


def test_every_degree_is_set_in_both():
    spec = LayoutSpec(data=16, tensor=8, stages=8, context=2, zero=1, micro_batch=2, chunks=3)
    one, other, *_ = told(spec)
    assert int(one["nnodes"]) * int(one["nproc-per-node"]) == spec.ranks
    sizes = ("tensor-model-parallel-size", "pipeline-model-parallel-size", "context-parallel-size")
    assert [one[name] for name in sizes] == ["8", "8", "2"]
    degrees = "tensor_parallel", "pipeline_parallel", "context_parallel", "data_parallel_shard"
    assert [other[f"parallelism.{name}_degree"] for name in degrees] == ["8", "8", "2", "16"]
    assert one["micro-batch-size"] == "2" and one["global-batch-size"] == "1536"
    assert one["num-virtual-stages-per-pipeline-rank"] == "3" and "sequence-parallel" in one
    assert other["parallelism.pipeline_parallel_layers_per_stage"] == str(96 // 24)
    assert other["parallelism.pipeline_parallel_schedule"] == "Interleaved1F1B"
    tokens = int(other["training.num_tokens_per_microbatch_per_dp_rank"])
    assert tokens * int(other["parallelism.num_pp_microbatches"]) * 16 == int(
        other["training.num_tokens_per_train_step"]
    )
    assert tokens == 2 * 2048


@pytest.mark.parametrize(
    "zero, megatron, shards, reshard",
    [
        (0, "overlap-grad-reduce", "1", None),
        (1, "use-distributed-optimizer", "8", "never"),
        (2, "use-megatron-fsdp", "8", "never"),
        (3, "use-megatron-fsdp", "8", "always"),
    ],
)
def test_stages_of_zero(zero, megatron, shards, reshard):
    one, other, *_ = told(LayoutSpec(data=8, zero=zero))
    assert megatron in one and ("use-distributed-optimizer" in one) == (zero == 1)
    assert one.get("data-parallel-sharding-strategy") == {2: "optim_grads", 3: "optim_grads_params"}.get(zero)
    assert other["parallelism.data_parallel_shard_degree"] == shards
    assert other.get("parallelism.fsdp_reshard_after_forward") == reshard
    replicas = int(other["parallelism.data_parallel_replicate_degree"])
    assert replicas * int(shards) == 8


@pytest.mark.parametrize("recompute", RECOMPUTE)
def test_recomputation(recompute):
    one, _, megatron, torchtitan = told(LayoutSpec(data=8, stages=4, recompute=recompute))
    granularity = {"none": None, "full": "full"}.get(recompute, "selective")
    assert one.get("recompute-granularity") == granularity
    assert one.get("recompute-num-layers") == {"full": "1"}.get(recompute)
    name = {"full": "full", "operations": "selective"}.get(recompute, "none")
    assert torchtitan.words[-1] == f"activation-checkpoint:{name}"
    assert any("second product" in note for note in megatron.notes) == (recompute == "operations")
    assert any("no option recomputes" in note for note in torchtitan.notes) == (recompute == "selective")


def test_the_order_of_the_axes():
    """Data is the outermost axis here; Megatron-Core has a flag for it, torchtitan has not."""
    one, _, _, torchtitan = told(LayoutSpec(data=8, stages=4))
    assert "use-tp-pp-dp-mapping" in one and any("outermost" in note for note in torchtitan.notes)
    one, _, _, torchtitan = told(LayoutSpec(data=8, tensor=4))
    assert "use-tp-pp-dp-mapping" not in one and not any("outermost" in note for note in torchtitan.notes)


def test_sizes_of_the_model():
    one, other, *_ = told(LayoutSpec(data=64, tensor=8, sequence_parallel=False), LLAMA, 512)
    assert (one["num-layers"], one["hidden-size"], one["num-query-groups"]) == ("80", "8192", "8")
    assert {"swiglu", "untie-embeddings-and-output-weights", "group-query-attention"} <= set(one)
    assert other["config"] == "llama3_70b" and "parallelism.no_enable_sequence_parallel" in other
    assert "sequence-parallel" not in one


def test_lines_are_one_command():
    line = command_lines(GPT, LayoutSpec(data=128, tensor=8), 1536, 8)[0]
    broken = line.lines(60)
    assert max(map(len, broken)) <= 62 + 40 and all(each.endswith("\\") for each in broken[:-1])
    assert " ".join(" ".join(broken).replace("\\", " ").split()) == str(line)
