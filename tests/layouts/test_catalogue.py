"""Which layout a command line asks for, and whether all of them are what `reference.train` asks of one."""

import pytest

from reference import cli, train
from reference.layouts.catalogue import LAYOUTS, choose, options
from reference.layouts.composed import Composed
from reference.layouts.zero import Zero


def typed(*arguments):
    return train.parser().parse_args(arguments)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_chosen_by_its_switch_and_the_options_of_all_are_filled_in(layout):
    chosen = typed(*([f"--{layout.switch}", "2"] if layout.switch else []))
    assert choose(chosen) is layout
    assert layout.ranks_of_a_group(chosen) == (2 if layout.switch and layout not in (Zero, Composed) else 1)
    assert {name: getattr(chosen, name) for _, name, _ in options()} == {
        name: 2 if name == layout.switch else option.default for _, name, option in options()
    }


def test_options_are_left_open_by_the_parser_and_no_two_layouts_have_one():
    names = [name for _, name, _ in options()]
    assert len(set(names)) == len(names)
    assert all(getattr(typed(), name) is None for name in names)
    for layout in LAYOUTS:
        assert set(layout.others) <= set(names) - set(layout.options)


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--attention", "ring"], "--attention is for context parallelism: say with --context how many ranks"),
        (["--tensor", "2", "--compress", "none"], "--compress is for data parallelism, and not for tensor parallelism"),
        (["--shard-groups", "2"], "--shard-groups is for ZeRO: say with --zero which stage"),
        (["--tensor", "2", "--zero", "1", "--bucket", "1MiB"], "--bucket is for data parallelism, and not for a mesh"),
        (["--zero", "2", "--compress", "bf16"], "--compress is for data parallelism, and not for ZeRO"),
        (["--stages", "2", "--pad", "--tokens", "zigzag"], "--pad is for tensor parallelism, and not for pipelines"),
    ],
)
def test_what_belongs_to_other_layouts_is_refused(arguments, says):
    with pytest.raises(cli.BadInput, match=says):
        choose(typed(*arguments))


def test_options_that_a_layout_shares_are_taken():
    for switch in ("--tensor", "--context"):
        assert choose(typed(switch, "2", "--bucket", "4KiB", "--order", "ready")).name.startswith(switch[2:])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--stages", "2", "--tensor", "2"],
        ["--context", "2", "--zero", "3"],
        ["--data", "2"],
        ["--tensor", "2", "--mesh", "tp-dp-cp-pp"],
        ["--tensor", "2", "--clip", "1"],
    ],
    ids=" ".join,
)
def test_two_at_a_time_are_a_mesh_and_so_is_one_with_an_option_of_the_mesh(arguments):
    assert choose(typed(*arguments)) is Composed


@pytest.mark.parametrize(
    "arguments",
    [["--zero", "2", "--clip", "1"], ["--clip", "1"], ["--stages", "2"], ["--tensor", "2", "--recompute"]],
    ids=" ".join,
)
def test_one_layout_with_its_own_options_is_no_mesh(arguments):
    assert choose(typed(*arguments)) is not Composed
