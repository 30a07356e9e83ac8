"""The memory of ZeRO: what a rank holds of a model at each stage, by kind, and whether it fits.

    python -m reference.memory --parameters 70e9 --ranks 16 --stage 2 --recipe adam
    python -m reference.memory --parameters 7e9 --ranks 64 --stage 3 --units 32 --width 4096 --tokens 8192 --json
    python -m reference.memory --check --ranks 4 --stage 3

A table of the bytes that one rank owns when the optimizer takes its step, and of those that it holds at the peak; a bar
for each kind; what it sends in a step; and whether that fits into a device, and what would.
--check trains a small model at this stage on virtual ranks, and compares what a meter counts with the formulas, to the
byte (zero/observed.py).
Exit status: 0; 1 if --check finds another number; 2 for bad input.
"""

from __future__ import annotations

from . import cli  # first: it answers Ctrl-C while the others are imported

# isort: split
import argparse
import re
import sys
from typing import Any

from .perf.accelerators import ACCELERATORS, accelerator
from .perf.recipes import RECIPES, Recipe
from .zero.memory import KINDS, OFFLOADS, STAGES, Setting, at_step, between, check, peak, second_tier
from .zero.sizing import MOST_UNITS, UNITS, model_setting, size_text, verdict
from .zero.volume import sent

COUNTS = {"": 1, "k": 10**3, "m": 10**6, "b": 10**9, "t": 10**12}
MOST_PARAMETERS = 10**15
MOST_RANKS = 10**7
CHECKED = 16  # virtual ranks that a check may have
BAR = 40  # characters of the longest bar


def parameter_count(text: str) -> int:
    """ "70e9" or "70B" -> 70,000,000,000. Raises ArgumentTypeError for what is no count from 1 to 10^15."""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+(?:e[0-9]{1,2})?)([kmbt]?)", text.strip().lower())
    count = float(match[1]) * COUNTS[match[2]] if match else 0.0
    if not (1 <= count <= MOST_PARAMETERS and count.is_integer()):
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not a number of parameters; write 70e9, 70B or 350M")
    return int(count)


def recipe_bytes(text: str) -> Recipe:
    """ "2,2,12" -> Recipe(2, 2, 12). Raises ArgumentTypeError for what is not three whole numbers from 0 to 64."""
    parts = text.split(",")
    if len(parts) != 3 or not all(part.isdecimal() and int(part[:9]) <= 64 for part in parts) or parts[0] == "0":
        raise argparse.ArgumentTypeError(f"{text[:40]!r} is not bytes of weights, gradients and optimizer: 2,2,12")
    return Recipe(*map(int, parts))


def parser() -> cli.Parser:
    """The command line."""
    p = cli.Parser("python -m reference.memory", description="What a rank holds of a model at each stage of ZeRO.")
    names = ", ".join(RECIPES)
    devices = ", ".join(one.name for one in ACCELERATORS)
    p.add_argument(
        "--parameters", type=parameter_count, default=7 * 10**9, help="of the model: 70e9, 70B (default: 7e9)"
    )
    p.add_argument("--ranks", type=int, default=8, help="of data parallelism (default: 8)")
    p.add_argument("--stage", type=int, default=3, help="0 (data parallelism) to 3 (default: 3)")
    p.add_argument(
        "--recipe", type=cli.OneOf("recipe", RECIPES), default="adam-mixed", help=f"{names} (default: the first)"
    )
    p.add_argument("--bytes", type=recipe_bytes, metavar="W,G,O", help="a recipe of one's own: bytes a parameter")
    p.add_argument("--units", type=int, default=UNITS, help=f"buckets, or units of stage 3 (default: {UNITS})")
    p.add_argument(
        "--width", type=int, default=0, help="of the model, for activations: a unit is a layer (default: none)"
    )
    p.add_argument(
        "--tokens", type=int, default=0, help="of a micro-batch on each rank, for activations (default: none)"
    )
    p.add_argument("--recompute", action="store_true", help="a layer keeps its input only")
    p.add_argument("--keep-gathered", action="store_true", help="stage 3: units stay whole until their backward pass")
    p.add_argument("--prefetch", type=int, default=1, help="stage 3: units gathered ahead (default: 1)")
    p.add_argument("--shard-group", type=int, default=0, help="hybrid: ranks among which shards are cut (default: all)")
    p.add_argument("--second-copy", type=int, default=0, help="ZeRO++: ranks that hold a second copy (default: none)")
    p.add_argument("--offload", choices=list(OFFLOADS), default="none", help="what a second tier holds (default: none)")
    p.add_argument("--micro-batches", type=int, default=1, help="in a step, for what is sent (default: 1)")
    p.add_argument("--whole-gradients", action="store_true", help="micro-batches add up whole gradients, sent once")
    p.add_argument(
        "--device", type=cli.OneOf("device", [one.name for one in ACCELERATORS]), default="A100 SXM", help=devices
    )
    p.add_argument("--check", action="store_true", help="train a small model at this stage, and compare with a meter")
    p.add_argument("--json", action="store_true", help="print one JSON object instead of the table")
    return p


def setting_of(options: argparse.Namespace) -> Setting:
    """What the options ask for. Raises BadInput that names the option."""
    for name, low, high in (
        ("ranks", 1, MOST_RANKS),
        ("stage", STAGES[0], STAGES[-1]),
        ("units", 1, min(MOST_UNITS, options.parameters)),
        ("width", 0, 10**6),
        ("tokens", 0, 10**9),
        ("prefetch", 0, MOST_UNITS),
        ("shard_group", 0, options.ranks),
        ("second_copy", 0, options.ranks),
        ("micro_batches", 1, 10**6),
    ):
        cli.check_range(f"--{name.replace('_', '-')}", getattr(options, name), low, high)
    for name, low in (("shard_group", 1), ("second_copy", 3)):
        ranks, flag = getattr(options, name), f"--{name.replace('_', '-')}"
        if ranks and options.stage < low:
            raise cli.BadInput(f"{flag} {ranks} is for stage {low} on, got --stage {options.stage}")
        if ranks and options.ranks % ranks:
            raise cli.BadInput(f"{flag} {ranks} must divide the {options.ranks} --ranks")
    if options.stage < OFFLOADS[options.offload]:
        raise cli.BadInput(
            f"--offload {options.offload} needs --stage {OFFLOADS[options.offload]}, got {options.stage}"
        )
    setting = model_setting(
        options.parameters,
        options.ranks,
        options.stage,
        options.bytes or RECIPES[options.recipe],
        options.units,
        options.width,
        options.tokens,
        options.recompute,
    )
    setting = setting._replace(
        shard_group=options.shard_group,
        secondary=options.second_copy,
        reshard=not options.keep_gathered,
        prefetch=options.prefetch,
        offload=options.offload,
    )
    check(setting)
    return setting


def check_by_a_run(P: int, stage: int) -> bool:
    """Train a small model at this stage on virtual ranks, and tell whether a meter finds what the formulas say."""
    from .worlds import launch  # as slow to import as torch, which the calculator does not need
    from .zero.observed import OBSERVED, SIZES, observe

    seen = launch(observe, P, stage).results
    sizes = " to ".join(map(str, SIZES))
    print(f"linear layers from {sizes}, float32, Adam, stage {stage} on {P} virtual ranks; bytes of rank 0:")
    print(f"{'':<10} {'between steps':>14} {'by formula':>11} {'peak':>8} {'by formula':>11}")
    first = seen[0]
    for kind in OBSERVED:
        columns = first.counted[kind], first.expected[kind], first.counted_peak[kind], first.expected_peak[kind]
        print("{:<10} {:>14,} {:>11,} {:>8,} {:>11,}".format(kind, *columns))
    equal = all(rank.off == 0 for rank in seen)
    print("equal to the byte on every rank" if equal else "NOT EQUAL", flush=True)
    return equal


# What is found --------------------------------------------------------------------------------------------------------


def found(setting: Setting, options: argparse.Namespace) -> dict[str, Any]:
    """All numbers, in bytes."""
    most, memory = peak(setting), accelerator(options.device).memory
    volume = sent(setting, options.micro_batches, not options.whole_gradients)
    return {
        "parameters": setting.parameters,
        "ranks": setting.P,
        "stage": setting.stage,
        "recipe": setting.recipe._asdict(),
        "between_steps": between(setting)._asdict(),
        "at_the_step": at_step(setting)._asdict(),
        "second_tier": second_tier(setting)._asdict(),
        "peak": most.held._asdict() | {"total": most.held.total, "when": most.what, "unit": most.group},
        "sent_a_step": volume._asdict() | {"total": volume.total},
        "device": options.device,
        "memory": memory,
        "fits": most.held.total <= memory,
        "verdict": verdict(setting, memory),
    }


def lines(told: dict[str, Any]) -> list[str]:
    """The table and the bars."""
    columns = {"between steps": "between_steps", "at the step": "at_the_step", "at the peak": "peak"}
    if any(told["second_tier"].values()):
        columns["second tier"] = "second_tier"
    rows = [(kind, [told[key][kind] for key in columns.values()]) for kind in KINDS]
    rows = [(kind, values) for kind, values in rows if any(values)]
    rows.append(("total", [sum(told[key][kind] for kind in KINDS) for key in columns.values()]))
    head = f"{'bytes of one rank':<18}" + "".join(f"{name:>15}" for name in columns)
    table = [head] + [f"{kind:<18}" + "".join(f"{size_text(one):>15}" for one in values) for kind, values in rows]
    most = told["peak"]
    bars = [f"  {kind:<12} {bar(most[kind], most['total'])} {size_text(most[kind])}" for kind in KINDS if most[kind]]
    recipe = ", ".join(f"{each} {name}" for name, each in told["recipe"].items())
    unit = "" if most["unit"] is None else f" of unit {most['unit']}"
    model = f"{told['parameters']:,} parameters, {told['ranks']:,} ranks, stage {told['stage']}"
    return [
        f"{model}; bytes a parameter: {recipe}",
        "",
        *table,
        "",
        f"at the peak ({most['when']}{unit}):",
        *bars,
        "",
        f"A step sends {size_text(told['sent_a_step']['total'])} from each rank.",
        f"{told['device']}: {' '.join(told['verdict'])}",
    ]


def bar(part: float, whole: float) -> str:
    """A bar, as long as its share; at least one character."""
    return ("#" * max(1, round(BAR * part / whole))).ljust(BAR)


def run(comm, options: argparse.Namespace) -> int:
    """The program on one rank of `comm`; its exit status."""
    setting = setting_of(options)
    if options.check:
        if not (options.stage and options.ranks <= CHECKED):
            raise cli.BadInput(f"--check is for --stage 1 to 3 and up to {CHECKED} --ranks")
        return 0 if comm.rank or check_by_a_run(options.ranks, options.stage) else 1
    told = found(setting, options)
    if comm.rank == 0:
        print(cli.as_json(told) if options.json else "\n".join(lines(told)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(cli.main(run, parser()))
