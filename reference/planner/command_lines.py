"""Command lines: the options of Megatron-Core and torchtitan that set a layout.

Idea      A layout is a few numbers, and each framework has a name for most of them. A table of what is the same:

              here               Megatron-Core                          torchtitan
              tensor             --tensor-model-parallel-size           --parallelism.tensor_parallel_degree
              sequence_parallel  --sequence-parallel                    --parallelism.enable_sequence_parallel
              stages             --pipeline-model-parallel-size         --parallelism.pipeline_parallel_degree
              chunks             --num-virtual-stages-per-pipeline-rank --parallelism.pipeline_parallel_layers_per_stage
              context            --context-parallel-size                --parallelism.context_parallel_degree
              data, ZeRO 0       what is left of the world              --parallelism.data_parallel_replicate_degree
              data, ZeRO 1       --use-distributed-optimizer            sharded, not resharded (see below)
              data, ZeRO 2, 3    --use-megatron-fsdp                    --parallelism.data_parallel_shard_degree
              recompute          --recompute-granularity, -method       activation-checkpoint:full
              order of the axes  --use-tp-pp-dp-mapping                 stages outermost, which cannot be changed

Exact     Where a framework has no option that does the same, `notes` says what the nearest one does instead: torchtitan
          has no stage that shards the optimizer's state alone, and Megatron-Core none of torchtitan's "operations".
Left out  What does not set the layout: data, tokenizer, learning rate, kernels, and the model in torchtitan, which is
          a configuration function and no option.
Source    Megatron-LM at d98e8a6 (2026-08-22): megatron/training/arguments.py, megatron/core/model_parallel_config.py,
          megatron/training/config/. torchtitan at b5bcd76 (2026-08-21): torchtitan/config/configs.py and README.md,
          which says that its flags still work and will be deleted in favour of configuration functions.
"""

from __future__ import annotations

from typing import NamedTuple

from .architecture import Architecture
from .spec import LayoutSpec

TORCHTITAN_CONFIGS = {"llama3-8b": "llama3_8b", "llama3-70b": "llama3_70b", "llama3-405b": "llama3_405b"}
TORCHTITAN_CHECKPOINTS = {"none": "none", "operations": "selective", "full": "full"}
SHARDING = {2: "optim_grads", 3: "optim_grads_params"}


class CommandLine(NamedTuple):
    """framework, and what to type, option by option; notes: where it differs from the layout that was asked for."""

    framework: str
    words: tuple[str, ...]
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return " ".join(self.words)

    def lines(self, width: int = 100) -> list[str]:
        """The command broken into lines that a shell takes as one."""
        lines, line = [], ""
        for word in self.words:
            if line and len(line) + len(word) + 3 > width:
                lines.append(line + " \\")
                line = "   "
            line = f"{line} {word}" if line else word
        return [*lines, line]


def command_lines(
    model: Architecture, spec: LayoutSpec, global_batch: int, ranks_per_node: int, length: int | None = None
) -> list[CommandLine]:
    """What to type for Megatron-Core and for torchtitan.

    global_batch: sequences of a step. Raises ValueError if it does not divide into micro-batches.
    """
    length = length or model.length
    return [
        megatron(model, spec, global_batch, ranks_per_node, length),
        torchtitan(model, spec, global_batch, ranks_per_node, length),
    ]


def megatron(model: Architecture, spec: LayoutSpec, global_batch: int, ranks_per_node: int, length: int) -> CommandLine:
    """torchrun with pretrain_gpt.py, the sizes of the model and the options of the layout."""
    words = [*_torchrun(spec.ranks, ranks_per_node), "pretrain_gpt.py", *_megatron_model(model, length)]
    words += [f"--micro-batch-size {spec.micro_batch}", f"--global-batch-size {global_batch}", "--bf16"]
    words += [
        f"--tensor-model-parallel-size {spec.tensor}",
        f"--pipeline-model-parallel-size {spec.stages}",
        f"--context-parallel-size {spec.context}",
    ]
    if spec.tensor > 1 and spec.sequence_parallel:
        words.append("--sequence-parallel")
    if spec.chunks > 1:
        words.append(f"--num-virtual-stages-per-pipeline-rank {spec.chunks}")
    words += _megatron_data(spec) + _megatron_recompute(spec)
    if spec.stages > 1 and spec.data > 1:
        words.append("--use-tp-pp-dp-mapping")
    notes = []
    if spec.zero >= 2:
        notes.append("--use-megatron-fsdp needs CUDA_DEVICE_MAX_CONNECTIONS unset or above 1")
    if spec.recompute == "operations":
        notes.append("no recomputation of every second product: selective recomputes attention only")
    return CommandLine("Megatron-Core", tuple(words), tuple(notes))


def _torchrun(ranks: int, ranks_per_node: int) -> list[str]:
    here = min(ranks, ranks_per_node)
    return ["torchrun", f"--nnodes {ranks // here}", f"--nproc-per-node {here}"]


def _megatron_model(model: Architecture, length: int) -> list[str]:
    words = [
        f"--num-layers {model.layers}",
        f"--hidden-size {model.width}",
        f"--num-attention-heads {model.heads}",
        f"--ffn-hidden-size {model.feed_forward}",
        f"--seq-length {length}",
        f"--max-position-embeddings {length}",
    ]
    if model.kv_heads != model.heads:
        words += ["--group-query-attention", f"--num-query-groups {model.kv_heads}"]
    if model.gated:
        words.append("--swiglu")
    if not model.tied:
        words.append("--untie-embeddings-and-output-weights")
    return words


def _megatron_data(spec: LayoutSpec) -> list[str]:
    """ZeRO 1 is the distributed optimizer, 2 and 3 are Megatron-FSDP with its sharding strategies."""
    if spec.zero == 0:
        return ["--overlap-grad-reduce"]
    if spec.zero == 1:
        return ["--use-distributed-optimizer", "--overlap-grad-reduce", "--overlap-param-gather"]
    strategy = f"--data-parallel-sharding-strategy {SHARDING[spec.zero]}"
    return ["--use-megatron-fsdp", strategy, "--ckpt-format fsdp_dtensor"]


def _megatron_recompute(spec: LayoutSpec) -> list[str]:
    """Every layer, or attention alone."""
    if spec.recompute == "full":
        return ["--recompute-granularity full", "--recompute-method uniform", "--recompute-num-layers 1"]
    return [] if spec.recompute == "none" else ["--recompute-granularity selective"]


def torchtitan(
    model: Architecture, spec: LayoutSpec, global_batch: int, ranks_per_node: int, length: int
) -> CommandLine:
    """torchrun with torchtitan.train: the configuration of the model, and the options of the layout."""
    config = TORCHTITAN_CONFIGS.get(model.name, "llama3_debugmodel")
    words = [*_torchrun(spec.ranks, ranks_per_node), "-m torchtitan.train --module llama3", f"--config {config}"]
    words += [
        f"--training.max_context_length {length}",
        f"--training.num_tokens_per_microbatch_per_dp_rank {spec.micro_batch * length}",
        f"--training.num_tokens_per_train_step {global_batch * length}",
        f"--parallelism.tensor_parallel_degree {spec.tensor}",
        f"--parallelism.context_parallel_degree {spec.context}",
    ]
    if spec.tensor > 1 and not spec.sequence_parallel:
        words.append("--parallelism.no_enable_sequence_parallel")
    words += _torchtitan_data(spec) + _torchtitan_stages(model, spec, global_batch)
    words.append(f"activation-checkpoint:{TORCHTITAN_CHECKPOINTS.get(spec.recompute, 'none')}")
    return CommandLine("torchtitan", tuple(words), tuple(_torchtitan_notes(model, spec)))


def _torchtitan_data(spec: LayoutSpec) -> list[str]:
    replicas, shards = (spec.data, 1) if spec.zero == 0 else (1, spec.data)
    words = [
        f"--parallelism.data_parallel_replicate_degree {replicas}",
        f"--parallelism.data_parallel_shard_degree {shards}",
    ]
    if spec.zero:
        words.append(f"--parallelism.fsdp_reshard_after_forward {'always' if spec.zero == 3 else 'never'}")
    return words


def _torchtitan_stages(model: Architecture, spec: LayoutSpec, global_batch: int) -> list[str]:
    if spec.stages == 1:
        return []
    words = [
        f"--parallelism.pipeline_parallel_degree {spec.stages}",
        f"--parallelism.num_pp_microbatches {spec.micro_batches(global_batch)}",
        f"--parallelism.pipeline_parallel_schedule {'Interleaved1F1B' if spec.chunks > 1 else '1F1B'}",
        f"--parallelism.pipeline_parallel_layers_per_stage {-(-model.layers // (spec.stages * spec.chunks))}",
        "--parallelism.pipeline_parallel_first_stage_less_layers 0",
        "--parallelism.pipeline_parallel_last_stage_less_layers 0",
    ]
    return words


def _torchtitan_notes(model: Architecture, spec: LayoutSpec) -> list[str]:
    notes = []
    if model.name not in TORCHTITAN_CONFIGS:
        notes.append(f"torchtitan has no configuration of {model.name}: write a function for it and name it")
    if spec.zero == 1:
        gradients = "gradients too, at the end of a pipeline's step," if spec.stages > 1 else "gradients too,"
        notes.append(f"no stage 1: the nearest shards {gradients} and keeps weights gathered for a step")
    if spec.recompute not in TORCHTITAN_CHECKPOINTS:
        notes.append(f"no option recomputes what {spec.recompute!r} does; selective and full are nearest")
    if spec.stages > 1 and spec.data > 1:
        notes.append("stages are outermost there, data is here: neighbouring stages are further apart")
    return notes
