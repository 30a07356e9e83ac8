"""The program, as an experimenter types it."""

import json
import sys
from functools import partial

import pytest

from reference import ring_allreduce as program_of_ranks
from reference.collectives import cost
from reference.worlds import RankFailed, launch

from . import programs

run = partial(programs.run, "reference.ring_allreduce")


@pytest.fixture
def on_real_ranks(capsys):
    """on_real_ranks(4, *arguments) is what the program prints on so many."""

    def printed(ranks, *arguments):
        assert programs.on_ranks(program_of_ranks, ranks, *arguments, world="mpi") == [0] * ranks
        return capsys.readouterr().out

    return printed


@pytest.mark.mpi
@pytest.mark.parametrize("ranks", [0, 3])
def test_it_verifies_and_prints_a_table(ranks):
    done = run(ranks, "--size", "4", "4100", "--repeat", "3")
    assert done.returncode == 0, done.stderr
    assert "verified" in done.stdout and "busbw" in done.stdout and "4 B" in done.stdout
    assert ("mpirun -n 8" in done.stdout) == (ranks == 0)  # alone, it says how to start more
    assert f"on {ranks or 1} rank" in done.stdout


@pytest.mark.mpi
def test_json_holds_what_the_table_holds(on_real_ranks):
    answer = json.loads(on_real_ranks(2, "--json", "--size", "80", "--dtype", "float64", "--repeat", "3"))
    (row,) = answer["rows"]
    assert (answer["ranks"], answer["dtype"], row["bytes"], row["verified"]) == (2, "float64", 80, True)
    assert row["bus_bandwidth"] == pytest.approx(row["algorithm_bandwidth"])  # 2 (P - 1) / P = 1 for two ranks
    assert row["ratio_to_mpi"] == pytest.approx(row["seconds"]["median"] / row["mpi_seconds"]["median"])
    assert row["seconds"]["low"] <= row["seconds"]["median"] <= row["seconds"]["high"]


@pytest.mark.mpi
@pytest.mark.parametrize("name, own", [("auto", []), ("torus", ["--group", "2"])])
def test_any_algorithm_is_fitted_predicted_and_verified(on_real_ranks, name, own):
    answer = json.loads(on_real_ranks(4, "--algorithm", name, *own, "--json", "--size", "4", "65536", "--repeat", "3"))
    chosen = {row["algorithm"] for row in answer["rows"]}
    assert all(row["verified"] and row["fitted_seconds"] > 0 for row in answer["rows"])
    assert chosen <= set(answer["fit"]["lines"]) and (name == "auto" or chosen == {name})
    assert len(answer["fit"]["residuals"]) == 7 * len(answer["fit"]["lines"])


@pytest.mark.parametrize(
    "name, given, own",
    [
        ("double tree", ["--segments", "3"], {"segments": 3}),
        (
            "leader",
            ["--group", "2", "--across", "recursive doubling"],
            {"ranks_per_node": 2, "across": "recursive doubling"},
        ),
    ],
)
def test_an_algorithm_is_carried_out_with_the_options_that_are_given(name, given, own):
    options = program_of_ranks.parser().parse_args(["--algorithm", name, *given, "--repeat", "1"])
    assert program_of_ranks.settings(options) == own
    rows = launch(lambda comm: program_of_ranks.try_size(comm, 4096, options, None), 4).results
    assert all(row["verified"] for row in rows)


def test_auto_takes_the_options_of_what_it_chooses():
    """A machine on which the hierarchical one was measured to be best, in nodes of four."""
    from reference.collectives.fit import Sample, fit

    machine = fit(8, [Sample("hierarchical", 4096, 1e-6)], options={"hierarchical": {"ranks_per_node": 4}})
    options = program_of_ranks.parser().parse_args(["--algorithm", "auto", "--repeat", "1"])
    rows = launch(lambda comm: program_of_ranks.try_size(comm, 4096, options, machine), 8).results
    assert [(row["algorithm"], row["verified"]) for row in rows] == [("hierarchical", True)] * 8


@pytest.mark.mpi
def test_the_table_shows_the_fit(on_real_ranks):
    shown = on_real_ranks(3, "--size", "4", "4100", "--repeat", "3", "--algorithm", "auto")
    assert "verified: equal" in shown and "busbw" in shown and "on 3 ranks" in shown
    assert "fitted to 3 ranks" in shown and "halving-doubling: alpha" in shown and "/fit" in shown


def test_the_default_sizes_go_from_4_bytes_to_64_mebibytes():
    assert (program_of_ranks.SIZES[0], program_of_ranks.SIZES[-1]) == (4, 64 * 2**20)


def test_bus_bandwidth_is_that_of_nccl_tests():
    """Its factors, doc/PERFORMANCE.md: 2 (n - 1) / n, (n - 1) / n, 1."""
    assert cost.bus_bandwidth("allreduce", 8, 100, 1.0) == pytest.approx(175)
    assert cost.bus_bandwidth("allgather", 8, 100, 1.0) == cost.bus_bandwidth("reduce_scatter", 8, 100, 1.0) == 87.5
    assert cost.bus_bandwidth("broadcast", 8, 100, 1.0) == 100


@pytest.mark.mpi
def test_bad_input_is_told_once_and_ends_every_rank():
    done = run(2, "--dtype", "float23")
    assert done.returncode == 2 and "float23" in done.stderr
    assert done.stderr.count("python -m reference.ring_allreduce:") == 1 and "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "arguments, says",
    [
        (["--size", "900GiB"], "GiB are free"),
        (["--algorithm", "rang"], "choose from"),
        (["--nonsense"], "--nonsense"),
    ],
)
def test_bad_input_is_refused_on_every_rank(arguments, says):
    with pytest.raises(RankFailed) as info:
        programs.on_ranks(program_of_ranks, 2, *arguments)
    assert [type(error).__name__ for error in info.value.errors.values()] == ["BadInput", "BadInput"]
    assert all(says in str(error) for error in info.value.errors.values())


@pytest.mark.mpi
def test_ranks_with_different_sizes_are_told_so():
    done = run(1, "--size", "8", ":", "-n", "1", sys.executable, "-m", "reference.ring_allreduce", "--size", "16")
    assert done.returncode == 2 and "arguments must be alike" in done.stderr and "'--size [16]'" in done.stderr


def test_a_wrong_sum_is_told_and_fails(monkeypatch, capsys):
    """A planted mistake: an all-reduce that adds nothing must not be called verified."""
    monkeypatch.setattr(program_of_ranks, "allreduce", lambda comm, x, **how: comm.Barrier())
    assert programs.on_ranks(program_of_ranks, 2, "--size", "64", "--repeat", "1") == [1, 1]
    said = capsys.readouterr().out
    assert "WRONG SUM" in said and "NOT VERIFIED" in said


@pytest.mark.mpi
def test_a_rank_that_fails_takes_the_others_with_it(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text(
        "import sys\n"
        "from reference import cli, ring_allreduce as program\n"
        "def run(comm, options):\n"
        "    if comm.rank == 1:\n"
        "        raise RuntimeError('planted')\n"
        "    comm.Barrier()\n"
        "sys.exit(cli.main(run, program.parser(), []))\n"
    )
    done = programs.run([sys.executable, str(planted)], 3)
    assert done.returncode != 0 and "rank 1: RuntimeError: planted" in done.stderr
