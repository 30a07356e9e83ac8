"""python -m reference.tiers, as a user types it."""

import json
from functools import partial
from unittest.mock import patch

import pytest

from reference.tiers import __main__ as program
from reference.tiers import measure

from .. import programs

run = partial(programs.run, "reference.tiers")
SMALL = ("--largest", "16KiB", "--file", "64KiB", "--turns", "1")


def test_it_measures_draws_and_leaves_nothing(tmp_path):
    picture = tmp_path / "tiers.png"
    done = run(0, *SMALL, "--folder", str(tmp_path), "--plot", str(picture))
    assert done.returncode == 0 and not done.stderr
    rows = [line.split("  ")[0] for line in done.stdout.splitlines()]
    assert rows[:3] == ["working set, or drive", "8 KiB", "16 KiB"] and rows[-1] == "drive, 4 KiB, 8 at once"
    assert picture.read_bytes().startswith(b"\x89PNG") and list(tmp_path.iterdir()) == [picture]


def test_a_drive_that_fails_while_it_is_measured_is_one_line(tmp_path):
    def full(*_):
        raise OSError(28, "No space left on device")

    told = f"the drive of --folder {tmp_path} cannot be measured: .*No space left on device"
    with patch.object(measure, "drive", full), pytest.raises(Exception, match=told):
        programs.on_ranks(program, 2, *SMALL, "--folder", str(tmp_path))


def test_json_and_the_published_levels(capsys, tmp_path):
    assert programs.on_ranks(program, 2, *SMALL, "--folder", str(tmp_path), "--json") == [0, 0]
    told = json.loads(capsys.readouterr().out)
    assert [row["nbytes"] for row in told["memory"]] == [2**13, 2**14] and told["drive"]["read"] > 0
    assert programs.on_ranks(program, 2, "--levels") == [0, 0]
    assert "HBM of an H100                GPU         344 ns   3,350 GB/s" in capsys.readouterr().out
