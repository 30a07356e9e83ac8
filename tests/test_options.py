"""Every option of every program refuses a bad value with one line that names it, and a new option must show that.

It must be used, too, in the tests of its program: a flag that does nothing refuses nothing.

The programs are found by their call of `add_argument`, their options by asking their parsers: only what is refused
stands in a table. A number must be refused as a number: that "x" is none, argparse knows by itself.
"""

import argparse
import ast
import importlib
import re
from functools import cache
from pathlib import Path

import pytest

from reference import cli
from reference.worlds import RankFailed, launch

TESTS = Path(__file__).parent
PACKAGE = TESTS.parent / "reference"
RANKS = 2  # virtual ones, with which programs are started here
REFUSED = {  # program: (arguments, words of the refusal)
    "reference.drive": [
        (["--load", "0"], "--load must be from 1 to 512, got 0"),
        (["--fault", "dead:perception@1"], "argument --fault: 'dead:perception@1' is no fault (silent or slow"),
        (["--fault", "slow:perception@-1"], "write silent:perception@2 or slow:planning@1-2"),
        (["--fault", "4"], "argument --fault: '4' is no fault"),
        (["--seconds", "0"], "--seconds must be from 1 to 60, got 0"),
        (["--slow-motion", "0.5"], "--slow-motion must be from 1 to 100, got 0.5"),
        (["--slow-motion", "nan"], "--slow-motion must be from 1 to 100, got nan"),
        (["--timeline", "/nowhere/x"], "--timeline /nowhere/x cannot be written"),
        (["--virtual"], "--virtual plays all 4 ranks in one process: start it without mpirun"),
        (["--tier", "sea"], "argument --tier: invalid choice: 'sea'"),
        (["--fault", "silent:cloud@1"], "--fault of the cloud, and there is none: add --tier cloud"),
        (["--fault", "slow:standby@1"], "--fault of the standby, and there is none: add --standby"),
        (["--tier", "cloud", "--standby"], "this drive has 6 ranks, one a stage, and 2 are running"),
        ([], "this drive has 4 ranks, one a stage, and 2 are running"),
    ],
    "reference.memory": [
        (["--parameters", "0"], "argument --parameters: '0' is not a number of parameters; write 70e9, 70B or 350M"),
        (["--parameters", "1.5"], "'1.5' is not a number of parameters"),
        (["--parameters", "1e99"], "'1e99' is not a number of parameters"),
        (["--ranks", "0"], "--ranks must be from 1 to 10,000,000, got 0"),
        (["--stage", "4"], "--stage must be from 0 to 3, got 4"),
        (["--recipe", "lion"], "argument --recipe: there is no recipe 'lion'; choose from adam-mixed, adam"),
        (["--bytes", "2,2"], "argument --bytes: '2,2' is not bytes of weights, gradients and optimizer: 2,2,12"),
        (["--bytes", "0,2,12"], "'0,2,12' is not bytes of weights"),
        (["--units", "0"], "--units must be from 1 to 1,024, got 0"),
        (["--units", "9", "--parameters", "8"], "--units must be from 1 to 8, got 9"),
        (["--width", "-1"], "--width must be from 0 to 1,000,000, got -1"),
        (["--tokens", "-1"], "--tokens must be from 0 to 1,000,000,000, got -1"),
        (["--prefetch", "-1"], "--prefetch must be from 0 to 1,024, got -1"),
        (["--shard-group", "9"], "--shard-group must be from 0 to 8, got 9"),
        (["--shard-group", "3"], "--shard-group 3 must divide the 8 --ranks"),
        (["--shard-group", "4", "--stage", "0"], "--shard-group 4 is for stage 1 on, got --stage 0"),
        (["--second-copy", "9"], "--second-copy must be from 0 to 8, got 9"),
        (["--second-copy", "4", "--stage", "2"], "--second-copy 4 is for stage 3 on, got --stage 2"),
        (["--offload", "disk"], "argument --offload: invalid choice: 'disk'"),
        (["--offload", "all", "--stage", "2"], "--offload all needs --stage 3, got 2"),
        (["--micro-batches", "0"], "--micro-batches must be from 1 to 1,000,000, got 0"),
        (["--check", "--stage", "0"], "--check is for --stage 1 to 3 and up to 16 --ranks"),
        (["--check", "--ranks", "17"], "--check is for --stage 1 to 3 and up to 16 --ranks"),
        (["--device", "abacus"], "argument --device: there is no device 'abacus'; choose from V100 SXM"),
    ],
    "reference.plan": [
        (["--model", "eniac"], "--model 'eniac' is not known; there are: gpt-1.7b"),
        (["--machine", "abacus"], "--machine 'abacus' is not known; there are: dgx-a100"),
        (["--accelerators", "0"], "--accelerators must be from 1 to 1,000,000, got 0"),
        (["--accelerators", "1001"], "--accelerators 1,001 are no whole nodes of 8; take 1,000 or 1,008"),
        (["--accelerators", "104"], "no degrees multiply to 104 accelerators"),
        (["--accelerators", "8"], "the layout that needs least (tensor 8 with ZeRO 0, recompute full) needs"),
        (["--global-batch", "0"], "--global-batch must be from 1 to 10,000,000, got 0"),
        (["--length", "0"], "--length must be from 1 to 100,000,000, got 0"),
        (["--memory", "0"], "--memory must be at least 1, got 0"),
        (["--memory", "60XB"], "argument --memory: '60XB' is not a size"),
        (["--top", "0"], "--top must be from 1 to 1,000, got 0"),
        (["--models", "nowhere.toml"], "--models: [Errno 2] No such file"),
        (["--machines", "nowhere.toml"], "--machines: [Errno 2] No such file"),
    ],
    "reference.perf.affinity": [
        (["0"], "argument ranks: '0' is no number of ranks: 1 or more"),
        (["-3"], "argument ranks: '-3' is no number of ranks: 1 or more"),
    ],
    "reference.realtime.deterministic": [
        (["--ticks", "9"], "argument --ticks: '9' is not a number of ticks from 10 to 1,000,000"),
        (["--period", "0"], "argument --period: '0' is not a period from 0.1 to 1000 ms"),
        (["--period", "nan"], "argument --period: 'nan' is not a period"),
    ],
    "reference.ring_allreduce": [
        (["--size", "-4"], "argument --size: '-4' is not a size"),
        (["--size", "6"], "--size 6 is not a multiple of 4"),
        (["--size", "4", "0"], "--size 0 is not a multiple of 4, the bytes of one float32, above 0"),
        (["--size", "1000TB"], "1000TB"),
        (["--size", "1e309"], "not a whole number"),
        (["--size", "1e300"], "--size must be below 2^63, got a number of 301 digits"),
        (["--dtype", "float23"], "argument --dtype: invalid choice: 'float23'"),
        (["--repeat", "0"], "--repeat must be from 1 to 1,000,000, got 0"),
        (["--repeat", "1000000000"], "--repeat must be from 1 to 1,000,000, got 1,000,000,000"),
        (["--algorithm", "rang"], "argument --algorithm: invalid choice: 'rang'"),
        (["--algorithm", "torus", "--group", "3"], "wants --group, which must divide 2: 1, 2, got 3"),
        (["--algorithm", "torus"], "wants --group, which must divide 2: 1, 2"),
        (["--algorithm", "double tree", "--segments", "0"], "--segments must be from 1 to 256, got 0"),
        (["--algorithm", "double tree", "--segments", "100000"], "1 to 256, got 100,000: at most 256 are offered"),
        (["--algorithm", "double tree", "--segments", "9", "--size", "4", "32"], "1 to 8, got 9: the largest array"),
        (["--segments", "4"], "--segments 4 is for binary tree, double tree, and not for 'ring'"),
        (["--group", "2"], "--group 2 is for hierarchical, leader, torus, x then y, and not for 'ring'"),
        (["--algorithm", "auto", "--group", "2"], "and not for 'auto'"),
        (["--across", "ring"], "--across ring is for hierarchical, leader, and not for 'ring'"),
        (
            ["--algorithm", "leader", "--group", "2", "--across", "rang"],
            "there is no --across 'rang'; choose from ring, recursive doubling, halving-doubling",
        ),
        (["--algorithm", "torus", "--group", "2", "--segments", "2"], "--segments 2 is for binary tree"),
    ],
    "reference.supervise": [
        (["--restarts", "-1"], "argument --restarts: '-1' is not a number of restarts from 0 to 999,999"),
        (["--restarts", "1.5"], "argument --restarts: '1.5' is not a number of restarts"),
        (["--back-off", "-1"], "argument --back-off: '-1' is not a number of seconds from 0 to 60"),
        (["--back-off", "nan"], "argument --back-off: 'nan' is not a number of seconds"),
        (["--sizes", "3,0"], "argument --sizes: '3,0' is no list of numbers of ranks: write 3,2"),
    ],
    "reference.tiers.__main__": [
        (["--largest", "4KiB"], "--largest must be from 8,192 to 8,589,934,592, got 4,096"),
        (["--file", "0"], "--file must be from 4,096 to 8,589,934,592, got 0"),
        (["--file", "5000"], "--file must be a multiple of 4096 bytes, got 5,000"),
        (["--turns", "0"], "--turns must be from 1 to 1,000, got 0"),
        (["--folder", "/nowhere"], "--folder /nowhere is no folder that can be written to"),
        (["--plot", "x.bmp"], "--plot x.bmp must end in .png, .svg or .pdf"),
        (["--plot", "/nowhere/x.png"], "--plot /nowhere/x.png cannot be written"),
    ],
    "reference.train": [
        (["--model", "x"], "argument --model: invalid choice: 'x'"),
        (["--optimizer", "x"], "argument --optimizer: invalid choice: 'x'"),
        (["--order", "x"], "argument --order: invalid choice: 'x'"),
        (["--compress", "x"], "argument --compress: there is no codec 'x'; choose from none, power-sgd, float32"),
        (["--rate", "nan"], "--rate must be from 1.2e-38 to 3.4e+38, as float32 is, got nan"),
        (["--rate", "1e39"], "as float32 is, got 1e+39"),
        (["--rate", "1e-50"], "as float32 is, got 1e-50"),
        (["--seed", "-1"], "--seed must be at least 0, got -1"),
        (["--steps", "0"], "--steps must be at least 1, got 0"),
        (["--steps", "9" * 30], "--steps must be below 2^63, got a number of 30 digits"),
        (["--steps", "9" * 18], "GiB for --steps 999,999,999,999,999,999, of which each leaves 100 bytes, and "),
        (["--batch", "0"], "--batch must be at least 1, got 0"),
        (["--batch", "1438"], "--batch must be from 1 to 1,437, got 1,438: the data has no more samples"),
        (["--bucket", "0"], "--bucket must be at least 1, got 0"),
        (["--layers", "1000000"], "--layers must be from 1 to 128, got 1,000,000: the largest language models"),
        (["--layers", "3", "--model", "cnn"], "--layers 3 is for the mlp and the gpt"),
        (["--micro-batches", "33"], "must be from 1 to 32, got 33: the share of a rank of --batch 64 is 32 samples"),
        (["--stages", "0"], "--stages must be at least 1, got 0"),
        (["--stages", "1000000"], "a pipeline of 1000000 ranks, and 2 are running"),
        (["--stages", "1", "--chunks", "2000"], "the stages of 1 ranks must be from 1 to 128, got 2,000"),
        (["--stages", "1", "--chunks", "0"], "--chunks must be at least 1, got 0"),
        (["--stages", "1", "--chunks", "60", "--batch", "1437", "--micro-batches", "700"], "need 84,000 tags, one"),
        (["--stages", "1", "--schedule", "2F2B"], "there is no schedule '2F2B'; choose from naive, GPipe, 1F1B"),
        (["--stages", "1", "--micro-batches", "0"], "--micro-batches must be at least 1"),
        (["--stages", "2", "--micro-batches", "65"], "from 1 to 64, got 65: the share of a pipeline of --batch 64"),
        (["--stages", "1", "--chunks", "4", "--layers", "2"], "4 stages and a model of 3 layers"),
        (["--stages", "1", "--chunks", "2", "--schedule", "GPipe"], "GPipe has 1 stage"),
        (
            ["--stages", "1", "--compress", "bf16"],
            "--compress is for data parallelism, and not for pipelines: leave out ",
        ),
        (["--stages", "1", "--bucket", "1MiB", "--order", "ready"], "--bucket and --order are for data parallelism"),
        (["--tensor", "0", "--model", "gpt"], "--tensor must be at least 1, got 0"),
        (["--tensor", "3", "--model", "gpt"], "--tensor 3: a group of 3 ranks, and 2 are running: start 3, so that"),
        (["--tensor", "2"], "--tensor 2 cuts the layers of a GPT: take --model gpt, got --model mlp"),
        (["--tensor", "2", "--model", "gpt", "--heads", "1"], "--tensor 2: 2 does not divide 1 heads; take another"),
        (["--tensor", "2", "--model", "gpt", "--compress", "bf16"], "and not for tensor parallelism: leave out --ten"),
        (["--tensor", "2", "--model", "gpt", "--schedule", "ZB-V"], "--schedule is for pipelines, and not for tens"),
        (["--overlap", "--pad"], "--overlap and --pad are for tensor parallelism: say with --tensor how many ranks"),
        (["--context", "0", "--model", "gpt"], "--context must be at least 1, got 0"),
        (["--context", "2", "--model", "cnn"], "--context 2 cuts sequences: take --model gpt, got --model cnn"),
        (["--context", "2", "--attention", "x"], "argument --attention: invalid choice: 'x'"),
        (["--context", "2", "--tokens", "x"], "argument --tokens: invalid choice: 'x'"),
        (["--context", "2", "--model", "gpt", "--attention", "ulysses", "--heads", "1"], "cannot share 1 heads"),
        (["--context", "2", "--sequence-parallel"], "--sequence-parallel is for tensor parallelism, and not for cont"),
        (["--tokens", "striped"], "--tokens is for context parallelism: say with --context how many ranks make a gr"),
        (["--tensor", "2", "--context", "1"], "a mesh shares the layers of a GPT: take --model gpt, got --model mlp"),
        (["--data", "0", "--model", "gpt"], "--data must be at least 1, got 0"),
        (
            ["--data", "3", "--tensor", "2", "--model", "gpt"],
            "--data 3 x --tensor 2 are 6 ranks, and 2 are running: start 6 with mpirun -n 6, or take --data 1",
        ),
        (["--data", "1", "--stages", "3", "--model", "gpt"], "or take degrees whose product divides 2"),
        (
            ["--tensor", "2", "--stages", "2", "--model", "gpt"],
            "--stages 2 x --tensor 2: a copy of the model of 4 ranks, and 2 are running: start 4, so that each is in a",
        ),
        (["--data", "2", "--mesh", "dp-tp", "--model", "gpt"], "--mesh is an order of dp, pp, cp, tp, such as pp-dp-"),
        (["--stages", "2", "--zero", "2", "--model", "gpt"], "ZeRO-2 in a pipeline would here reduce gradients once"),
        (
            ["--stages", "2", "--recompute", "--layers", "9", "--batch", "3", "--model", "gpt"],
            "the share of a pipeline of",
        ),
        (["--stages", "2", "--clip", "1", "--schedule", "PipeDream", "--model", "gpt"], "updates while micro-batches"),
        (["--stages", "1", "--tensor", "2", "--heads", "1", "--model", "gpt"], "--tensor 2: 2 does not divide 1 heads"),
        (["--recompute"], "--recompute full computes blocks of a GPT again: take --model gpt, got --model mlp"),
        (["--recompute", "every:0"], "recompute is one of none, full, selective, every:K, sqrt with a number K of"),
        (["--recompute", "2"], "argument --recompute: recompute is one of none, full, selective, every:K, sqrt"),
        (
            ["--recompute", "selective", "--stages", "2", "--schedule", "ZB-H1", "--model", "gpt"],
            "ZB-H1 goes backward in two parts, I and W, so that a part of a stage cannot be computed again: take",
        ),
        (
            ["--recompute", "sqrt", "--data", "1", "--stages", "2", "--schedule", "PipeDream", "--model", "gpt"],
            "PipeDream updates while micro-batches are under way, so that a part of a stage cannot be computed",
        ),
        (["--data", "2", "--zero", "2", "--timeline", "x", "--model", "gpt"], "--timeline shows the actions of a sche"),
        (["--heads", "5", "--model", "gpt"], "--heads must divide the width of 64, got 5"),
        (["--heads", "0", "--model", "gpt"], "--heads must be at least 1, got 0"),
        (["--heads", "4"], "--heads: for the gpt alone; take --model gpt"),
        (["--kv-heads", "3", "--model", "gpt"], "--kv-heads must divide the 4 heads, got 3"),
        (["--zero", "4"], "argument --zero: invalid choice: 4"),
        (["--zero", "2", "--shard-groups", "2"], "--shard-groups is for --zero 3, got --zero 2"),
        (["--zero", "3", "--shard-groups", "3"], "a shard group of 3 ranks, and 2 are running: start 3"),
        (["--zero", "3", "--bucket", "1MiB"], "--bucket is for --zero 1 and 2: stage 3 moves the units of the model"),
        (["--zero", "1", "--tensor", "2", "--shard-groups", "2"], "--shard-groups is for ZeRO, and not for a mesh"),
        (["--zero", "1", "--offload", "optimizer"], "--offload optimizer is for --zero 2, got --zero 1"),
        (["--zero", "2", "--offload", "all"], "--offload all is for --zero 3, got --zero 2"),
        (["--zero", "3", "--offload", "disk"], "argument --offload: invalid choice: 'disk'"),
        (["--zero", "3", "--offload", "all", "--shard-groups", "2"], "one at a time can be had here"),
        (["--shard-groups", "2"], "--shard-groups is for ZeRO: say with --zero which stage"),
        (["--clip", "0"], "argument --clip: a gradient is clipped to a norm above 0, got 0"),
        (["--clip", "nan"], "a norm above 0, got nan"),
        (["--stages", "2", "--clip", "1"], "a mesh shares the layers of a GPT: take --model gpt, got --model mlp"),
        (["--timeline", "x"], "--timeline is for pipelines: say with --stages"),
        (["--stages", "2", "--timeline", ""], "--timeline '' cannot be written"),
        (["--schedule", "DualPipe"], "--schedule is for pipelines: say with --stages how many ranks make a pipeline"),
        (["--checkpoint", "/dev/null"], "--checkpoint /dev/null is no folder"),
        (["--every", "0", "--checkpoint", "x"], "argument --every: '0' is not a whole number from 1 to 1,000,000,000"),
        (["--keep", "0", "--checkpoint", "x"], "argument --keep: '0' is not a whole number from 1 to 1,000,000"),
        (["--mtbf", "0", "--checkpoint", "x"], "argument --mtbf: '0' is not a time above 0: write seconds, or 5m, 3h"),
        (["--resume", "-1", "--checkpoint", "x"], "argument --resume: '-1' is not a whole number from 0 to"),
        (["--resume", "7", "--checkpoint", "/nowhere"], "--resume 7: there is no checkpoint of step 7 in /nowhere"),
        (["--keep", "3", "--resume"], "--keep and --resume: say with --checkpoint in which folder"),
    ],
}
CASES = [(program, arguments, says) for program, refused in REFUSED.items() for arguments, says in refused]


def programs(package=PACKAGE):
    """The dotted names of all modules that have options: of those that call add_argument."""
    for path in sorted(package.rglob("*.py")):
        calls = [node.func for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
        if any(isinstance(called, ast.Attribute) and called.attr == "add_argument" for called in calls):
            yield ".".join(path.relative_to(package.parent).with_suffix("").parts)


@cache
def refusal(program, *arguments):
    """What a program says to arguments that make no sense. It must say so before it works."""
    module = importlib.import_module(program)
    if not hasattr(module, "run"):  # a program of one process
        with pytest.raises(argparse.ArgumentError) as told:
            module.parser(exit_on_error=False).parse_args(arguments)
        return str(told.value)

    def on_each(comm):
        module.run(comm, cli.parse(comm, module.parser(), list(arguments)))

    with pytest.raises(RankFailed, match="BadInput") as told:
        launch(on_each, RANKS)
    return str(told.value)


def values(option, arguments):
    """The values that are given to an option; to one without dashes, all."""
    if not option.option_strings:
        return arguments
    (name,) = option.option_strings
    after = arguments[arguments.index(name) + 1 :] if name in arguments else []
    return after[: next((k for k, word in enumerate(after) if word.startswith("--")), len(after))]


def unchecked(parser, refused):
    """The options that take a value, and of which nothing shows that a bad one is refused.

    refused: (arguments, what the program said). A bad number is one; what is said must name the option.
    """

    def shown(option, arguments, said):
        bad = values(option, arguments)
        if option.type is not None and not isinstance(option.type, cli.OneOf):
            bad = [value for value in bad if re.match(r"-?(\d|nan|inf)", value)]
        return bad and (option.option_strings or [option.dest])[0] in said

    takes_a_value = [option for option in parser._actions if option.nargs != 0]
    return [option.dest for option in takes_a_value if not any(shown(option, *case) for case in refused)]


def unused(parser, tests):
    """The options that the text of a program's tests never gives to it."""
    named = [option for option in parser._actions if option.option_strings and option.dest != "help"]
    return [option.option_strings[-1] for option in named if f'"{option.option_strings[-1]}"' not in tests]


@pytest.mark.parametrize("program, arguments, says", CASES)
def test_what_makes_no_sense_is_told_before_the_work(program, arguments, says):
    assert says in refusal(program, *arguments)


def test_every_program_has_a_list_of_what_it_refuses():
    assert list(programs()) == sorted(REFUSED), "REFUSED in tests/test_options.py lists what each program refuses"


@pytest.mark.parametrize("program", REFUSED)
def test_every_option_refuses_a_bad_value(program):
    told = [(arguments, refusal(program, *arguments)) for arguments, _ in REFUSED[program]]
    found = unchecked(importlib.import_module(program).parser(), told)
    assert not found, f"show in tests/test_options.py that {program} refuses a bad value of: {', '.join(found)}"


@pytest.mark.parametrize("program", REFUSED)
def test_every_option_is_used_in_the_tests_of_its_program(program):
    *folders, name = program.split(".")[1:]
    tests = TESTS.joinpath(*folders, f"test_{name}.py")
    found = unused(importlib.import_module(program).parser(), tests.read_text())
    assert not found, f"show in {tests.relative_to(TESTS.parent)} what {program} does with: {', '.join(found)}"


# ------------------------------------------------------------------------------------------------ the guard itself


@pytest.mark.parametrize(
    "refused, found",
    [
        ([], ["decay", "how"]),
        ([(["--decay", "-1"], "--decay must be at least 0"), (["--how", "x"], "there is no --how x")], []),
        ([(["--decay", "x"], "argument --decay: invalid float value: 'x'"), (["--how", "x"], "no --how x")], ["decay"]),
        ([(["--decay", "-1", "--how", "x"], "there is no --how x")], ["decay"]),
        ([(["--decay", "-1"], "that cannot be"), (["--how", "x"], "no --how x")], ["decay"]),
    ],
)
def test_an_option_that_nobody_checks_is_found(refused, found):
    planted = argparse.ArgumentParser()
    planted.add_argument("--decay", type=float)
    planted.add_argument("--how")
    planted.add_argument("--json", action="store_true")
    assert unchecked(planted, refused) == found


def test_an_option_that_nobody_uses_is_found():
    planted = argparse.ArgumentParser()
    planted.add_argument("count")
    planted.add_argument("-q", "--quiet", action="store_true")
    planted.add_argument("--lines", type=int)
    assert unused(planted, 'run("--lines", "3")') == ["--quiet"]
    assert unused(planted, 'run("--line", "--quiet-ly")') == ["--quiet", "--lines"]
    assert unused(planted, 'run("--lines", "3", "--quiet")') == []


def test_a_program_is_found_wherever_it_stands(tmp_path):
    for name, line in (("simulate", "p.add_argument('--decay')"), ("deep/plan", "def parser(): q.add_argument('x')")):
        path = tmp_path / f"reference/{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{line}\n")
    (tmp_path / "reference/cli.py").write_text("add_argument = 'a name'\n")
    assert list(programs(tmp_path / "reference")) == ["reference.deep.plan", "reference.simulate"]
