"""What programs share: all ranks come to the same end, in one line, and nothing is left behind."""

import argparse
import json
import math
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from reference import cli
from reference.perf.pace import pace
from reference.worlds import launch

from . import programs

LINUX = pytest.mark.skipif(not Path("/dev/shm").is_dir(), reason="shared memory has no names in the file system here")


def parser():
    p = cli.Parser("program", description="planted")
    p.add_argument("--rate", type=float, default=1.0)
    return p


def parsed(comm, arguments):
    """What came of this rank's arguments: the rate, or the error, or the exit status."""
    try:
        return cli.parse(comm, parser(), arguments[comm.rank]).rate
    except cli.BadInput as bad:
        return str(bad)
    except SystemExit as end:
        return end


@pytest.mark.parametrize("asking", [["--help"], ["-h"], ["--rate", "2", "--he"]])
@pytest.mark.parametrize("rank", [0, 2])
def test_help_for_one_rank_is_help_for_all(capsys, asking, rank):
    arguments = [asking if number == rank else [] for number in range(3)]
    ends = launch(parsed, 3, arguments).results
    assert [end.code for end in ends] == [0, 0, 0]
    assert capsys.readouterr().out.count("usage: program") == 1


def test_nan_is_the_same_argument_on_all_ranks():
    assert all(map(math.isnan, launch(parsed, 3, [["--rate", "nan"]] * 3).results))


def test_different_arguments_are_shown():
    (told,) = set(launch(parsed, 2, [["--rate", "1"], ["--rate", "nan"]]).results)
    assert told.startswith("the arguments must be alike on all ranks") and "'--rate nan' where rank 0" in told


@pytest.mark.parametrize(
    "value, high, told",
    [
        (0, 10, "--steps must be from 1 to 10, got 0"),
        (11, 10, "--steps must be from 1 to 10, got 11: there are no more"),
        (-5, cli.LARGEST, "--steps must be at least 1, got -5"),
        (10**30, cli.LARGEST, "--steps must be below 2^63, got a number of 31 digits"),
        (math.nan, 10, "--steps must be from 1 to 10, got nan"),
    ],
)
def test_a_number_out_of_bounds_is_named_with_the_bound(value, high, told):
    with pytest.raises(cli.BadInput) as caught:
        cli.check_range("--steps", value, 1, high, "there are no more")
    assert str(caught.value) == told


@pytest.mark.parametrize("value", [1, 10, None])
def test_a_number_within_bounds_is_taken(value):
    cli.check_range("--steps", value, 1, 10)


def test_what_does_not_fit_into_memory_is_refused_on_all_ranks():
    def program(comm, needed):
        with pytest.raises(cli.BadInput) as caught:
            cli.check_memory(comm, needed if comm.rank == 1 else 1, "--size 9", lambda free: f"{free // 2**30} GiB fit")
        return str(caught.value)

    (told,) = set(launch(program, 3, 2**60).results)
    assert told.startswith("3 ranks on one machine need 3,221,225,472.0 GiB for --size 9, and ") and "GiB fit" in told
    launch(lambda comm: cli.check_memory(comm, 1, "nothing", str), 3)


def test_json_has_no_nan():
    text = cli.as_json({"a": [1.5, math.nan, (math.inf, -math.inf)], "b": {"c": None, "d": "nan"}, "e": True})
    found = json.loads(text, parse_constant=pytest.fail)
    assert found == {"a": [1.5, None, [None, None]], "b": {"c": None, "d": "nan"}, "e": True}


@pytest.mark.parametrize("path", ["", "/", "/nowhere/x", "/dev/null/x", "a" * 300])
def test_a_file_that_cannot_be_written_is_told_before_the_work(path):
    def program(comm):
        with pytest.raises(cli.BadInput) as caught:
            cli.check_writable(comm, "--timeline", path)
        return str(caught.value)

    (told,) = set(launch(program, 2).results)
    assert told.startswith(f"--timeline {path or repr(path)} cannot be written: ")


def test_asking_whether_a_file_can_be_written_changes_nothing(tmp_path):
    new, old = tmp_path / "new", tmp_path / "old"
    old.write_text("kept")
    for path in (new, old, None):
        launch(lambda comm, path=path: cli.check_writable(comm, "--timeline", path and str(path)), 2)
    assert not new.exists() and old.read_text() == "kept"


def test_a_file_that_fails_while_it_is_written_is_told_on_all_ranks(capsys):
    def program(comm, works):
        def function(path):
            if not works:
                raise OSError(28, "No space left on device")

        return cli.write(comm, "--timeline", "x.json", function)

    assert launch(program, 2, True).results == [True, True] and launch(program, 2, False).results == [False, False]
    assert capsys.readouterr().err == "--timeline x.json could not be written: No space left on device\n"


@pytest.mark.parametrize("error", [FileNotFoundError(2, "gone"), ValueError("empty"), ImportError("missing")])
def test_what_one_rank_cannot_read_ends_all(error):
    def program(comm):
        def read():
            if comm.rank == 1:
                raise error
            return "data"

        with pytest.raises(cli.BadInput, match=r"no data: .*(gone|empty|missing).* \[rank 1\]"):
            cli.attempt(comm, "no data", read)

    launch(program, 3)


def test_an_mpi_that_cannot_start_is_one_line(monkeypatch, capsys):
    def world():
        raise RuntimeError("no network card")

    monkeypatch.setattr("reference.cli.mpi.world", world)
    monkeypatch.setattr("reference.cli.answer_interrupts", lambda *_, **__: None)  # pytest answers them itself
    assert cli.main(pytest.fail, parser(), []) == 1
    assert capsys.readouterr().err == "program: RuntimeError: no network card\n"


@pytest.mark.parametrize("rank", [0, 1])
@pytest.mark.parametrize("program", ["reference.train", "reference.ring_allreduce"])
def test_an_mpi_library_that_is_not_there_is_one_line_of_the_first_rank(monkeypatch, program, rank):
    monkeypatch.setenv("MPI4PY_LIBMPI", "/nowhere/libmpi.so")
    monkeypatch.setenv("PMI_RANK", str(rank))
    done = programs.run(program, 0)
    assert done.returncode == 1 and done.stdout == ""
    if rank == 0:
        assert done.stderr.startswith(f"python -m {program}: MPI cannot be loaded (") and done.stderr.count("\n") == 1
    else:
        assert done.stderr == ""


# ------------------------------------------------------------------------------------------------ as typed


@pytest.mark.mpi
@pytest.mark.parametrize("program, imported", [("reference.train", "torch"), ("reference.ring_allreduce", "psutil")])
def test_an_interrupt_while_modules_are_imported_is_one_line(tmp_path, program, imported):
    planted = tmp_path / f"{imported}.py"
    planted.write_text("import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(60)\n")
    done = programs.run(program, 2, first=str(tmp_path))
    assert done.stderr.count(f"python -m {program}: interrupted\n") == 1 and "Traceback" not in done.stderr
    assert done.returncode == 130 and "File" not in done.stderr


@pytest.mark.mpi
def test_an_interrupt_while_the_program_runs_is_one_line(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(
        "import os, signal, sys, time\n"
        "from reference import cli\n"
        "def run(comm, options):\n"
        "    os.kill(os.getpid(), signal.SIGINT)\n"
        "    time.sleep(60)\n"
        "sys.exit(cli.main(run, cli.Parser('planted'), []))\n"
    )
    done = programs.run([sys.executable, str(planted)], 2)
    assert done.stderr.count("planted: interrupted\n") == 1 and "Traceback" not in done.stderr


@LINUX
@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [0, 2])
def test_shared_memory_has_no_name_once_the_program_runs(tmp_path, ranks):
    """So nothing is left, whatever ends the ranks: kill -9 too."""
    planted = tmp_path / "planted.py"
    planted.write_text(
        "import os, signal, sys\n"
        "from reference import cli\n"
        "from reference.worlds.processes import shared_memory\n"
        "def run(comm, options):\n"
        "    files = comm.gather(shared_memory([os.getpid()]))\n"
        "    if comm.rank == 0:\n"
        "        print(len(set().union(*files)), [file for file in set().union(*files) if os.path.exists(file)])\n"
        "    return 0\n"
        "sys.exit(cli.main(run, cli.Parser('planted'), []))\n"
    )
    done = programs.run([sys.executable, str(planted)], ranks)
    assert done.returncode == 0, done.stderr
    mapped, left = done.stdout.split(maxsplit=1)
    assert int(mapped) > 0 and left == "[]\n"


@pytest.mark.mpi
def test_a_reader_who_has_seen_enough_ends_the_program_quietly():
    command = f"{shlex.quote(sys.executable)} -m reference.ring_allreduce --size 4 8 16 --repeat 2 | head -1"
    environment = os.environ | {"PYTHONPATH": str(programs.HERE)}
    done = subprocess.run(
        command, shell=True, capture_output=True, text=True, timeout=60 * pace(), env=environment, cwd=programs.HERE
    )
    assert done.stdout.startswith("ring all-reduce") and done.stderr == ""


@pytest.mark.parametrize(
    "text, size", [("0", 0), ("4096", 4096), ("4KiB", 4096), ("1kB", 1000), ("1.5 MiB", 3 * 2**19)]
)
def test_sizes_are_read(text, size):
    assert cli.nbytes(text) == size


@pytest.mark.parametrize("text", ["1", "0", "-3", "2.5", "many", "9" * 30, "1000000000"])
def test_numbers_of_ranks_that_cannot_be_are_refused(text):
    with pytest.raises(
        argparse.ArgumentTypeError, match=r"is not a whole number from 2 to [\d,]+: .* 100 MB of memory"
    ):
        cli.rank_count(text)
    assert cli.rank_count("2") == 2 and cli.whole_number("7") == 7
