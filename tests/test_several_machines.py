"""The cluster of namespaces: nodes that have only a network between them, and that are gone when the program is."""

import importlib
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from reference.perf.pace import pace

ROOT = Path(__file__).parents[1]
CLUSTER = [sys.executable, str(ROOT / "benchmarks/namespaces.py")]
ENVIRONMENT = os.environ | {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTHONPATH": str(ROOT),
}
N, L, COUNT = 2, 2, 2**20  # nodes, ranks a node, elements of float32
RATE = 125e6  # bytes a second: 1gbit

RANK = f"""
import json, socket, time
import numpy as np
from reference import mpi
from reference.collectives import allreduce

comm = mpi.world()
here = comm.Split_type(mpi.COMM_TYPE_SHARED)
counter = "/sys/class/net/e0/statistics/tx_bytes"
places = comm.allgather((socket.gethostname(), here.size))
in_turn = comm.Split(0, comm.rank % {L} * {N} + comm.rank // {L})
found = {{"places": places}}
for name, group, how in [
    ("ring", comm, {{"algorithm": "ring"}}),
    ("hierarchical", comm, {{"algorithm": "hierarchical", "ranks_per_node": {L}}}),
    ("ring, round-robin", in_turn, {{"algorithm": "ring"}}),
]:
    x = np.arange({COUNT}, dtype=np.float32) % 11 * (comm.rank + 1)
    comm.Barrier()
    before, start = int(open(counter).read()), time.perf_counter()
    comm.Barrier()
    allreduce(group, x, **how)
    comm.Barrier()
    seconds, sent = time.perf_counter() - start, int(open(counter).read()) - before
    right = np.array_equal(x, np.arange({COUNT}) % 11 * 10)  # 1 + 2 + 3 + 4
    right, sent = comm.allreduce(right, op=mpi.LAND), comm.allgather(sent)[:: {L}]
    found[name] = {{"right": right, "sent": sent, "seconds": seconds}}
if comm.rank == 0:
    print(json.dumps(found))
"""


def run(*command, program=CLUSTER, environment=ENVIRONMENT):
    words = [*program, *map(str, command)]
    return subprocess.run(words, capture_output=True, text=True, timeout=60 * pace(), cwd=ROOT, env=environment)


@pytest.fixture(scope="module")
def cluster():
    """Runs a command on a cluster of two nodes; skips, with the reason, where there can be none."""
    can = run("true")
    if can.returncode == 2:
        pytest.skip(can.stderr.strip())
    assert can.returncode == 0, can.stderr
    if "HYDRA" not in run("--version", program=["mpirun"]).stdout:
        pytest.skip("mpirun is not MPICH's")
    return lambda *command: run("--nodes", N, "--slots", L, *command)


@pytest.fixture(scope="module")
def found(cluster):
    """What the ranks found out, and the bytes that came into the switch from each node."""
    seen = "cat /sys/class/net/node?/statistics/rx_bytes"
    done = cluster("sh", "-c", f'mpirun -n {N * L} "$0" -c "$1" && {seen}', sys.executable, RANK)
    assert done.returncode == 0, done.stderr
    first, *switch = done.stdout.splitlines()
    return json.loads(first) | {"switch": [int(line) for line in switch]}


@pytest.mark.mpi
def test_mpi_sees_the_nodes(found):
    assert found["places"] == [["node0", L], ["node0", L], ["node1", L], ["node1", L]]


@pytest.mark.mpi
@pytest.mark.parametrize("name, arrays", [("ring", 1.5), ("hierarchical", 1.0), ("ring, round-robin", 3.0)])
def test_bytes_over_each_cable_are_those_of_the_formula(found, name, arrays):
    """2 (P - 1) / P n through the one rank that sends across; 2 (N - 1) / N n; or as the ring, from both ranks."""
    assert found[name]["right"]
    for sent in found[name]["sent"]:
        assert arrays <= sent / (4 * COUNT) < 1.04 * arrays  # headers and acknowledgements
    assert all(total > 4 * COUNT * (1.5 + 1.0 + 3.0) for total in found["switch"])


@pytest.mark.mpi
@pytest.mark.parametrize("name, arrays", [("ring", 1.5), ("hierarchical", 1.0), ("ring, round-robin", 3.0)])
def test_no_cable_is_faster_than_its_rate(found, name, arrays):
    assert found[name]["seconds"] > 0.9 * arrays * 4 * COUNT / RATE


@pytest.mark.mpi
def test_a_killed_rank_ends_the_job(cluster):
    rank = "from reference import mpi; c = mpi.world(); c.rank == 1 and __import__('os').kill(0, 9); c.Barrier()"
    start = time.monotonic()
    done = cluster("mpirun", "-n", 4, sys.executable, "-c", rank.replace("kill(0", "kill(__import__('os').getpid()"))
    assert done.returncode > 0 and "BAD TERMINATION" in done.stdout + done.stderr
    assert time.monotonic() - start < 20 * pace()


def users_of(networks: set[str]) -> list[str]:
    """The processes whose network is one of these."""
    users = []
    for link in Path("/proc").glob("[0-9]*/ns/net"):
        try:
            users += [link.parts[2]] * (os.readlink(link) in networks)
        except OSError:
            pass  # it has ended, or is somebody else's
    return users


def own_links() -> list[str]:
    """The network cards of this machine: name, address, master, but not their counters."""
    return subprocess.run(["ip", "-brief", "link"], capture_output=True, text=True, check=True).stdout.splitlines()


@pytest.mark.parametrize("how, status", [(signal.SIGTERM, 128 + signal.SIGTERM), (signal.SIGKILL, -signal.SIGKILL)])
def test_nothing_is_touched_and_nothing_is_left(cluster, how, status):
    before = own_links()
    show, leave = "readlink /proc/self/ns/net", "touch /dev/shm/left-on-a-node"
    steps = f"ssh node0 {leave}; {show}; ssh node0 {show}; ssh node1 {show}; exec sleep 100"
    command = [*CLUSTER, "--nodes", "2", "sh", "-c", steps]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as program:
        networks = {program.stdout.readline().strip() for _ in range(3)}
        assert len(networks | {os.readlink("/proc/self/ns/net")}) == 4
        assert len(users_of(networks)) >= 4  # process 1, the command, a sleeper in each node
        assert own_links() == before
        program.send_signal(how)
        assert program.wait(10 * pace()) == status
    deadline = time.monotonic() + 5 * pace()
    while users_of(networks) and time.monotonic() < deadline:
        time.sleep(0.01)
    assert users_of(networks) == [] and own_links() == before
    assert not Path("/dev/shm/left-on-a-node").exists()


def test_both_ends_of_each_cable_let_the_rate_through(cluster):
    done = cluster("--rate", "300mbit", "sh", "-c", "tc qdisc; ssh node0 tc qdisc; ssh node1 tc qdisc")
    ends = re.findall(r"qdisc tbf \S+ dev (\S+) root refcnt \d+ rate 300Mbit", done.stdout)
    assert ends == ["node0", "node1", "e0", "e0"], done.stdout


def test_the_status_is_the_commands(cluster):
    assert cluster("sh", "-c", "exit 7").returncode == 7
    assert cluster("sh", "-c", "kill -9 $$").returncode == 128 + 9
    assert cluster("ssh", "node1", "exit 6").returncode == 6
    done = cluster("ssh", "-x", "-o", "Foo=bar", "node7", "true")
    assert (done.returncode, done.stderr) == (255, "ssh: there is no node 'node7'\n")


def test_it_stops_at_the_limit(cluster):
    done = cluster("--limit", 1, "sleep", 100)
    assert done.returncode == 124 and "stopped after 1 s" in done.stderr


def test_the_benchmark_says_what_it_found(cluster):
    options = ["--nodes", N, "--slots", L, "--size", "64KiB", "--repeat", 1]
    done = run(*options, program=[sys.executable, "benchmarks/several_machines.py"])
    assert done.returncode == 0 and "sums: right" in done.stdout, done.stdout + done.stderr
    assert re.search(r"between: alpha +[1-9]\d* us, 1/beta 0\.[01]\d GB/s", done.stdout)  # at most 0.125
    rows = {
        name: re.findall(rf"^{name} +(.*)", done.stdout, re.MULTILINE) for name in ("ring", "hierarchical", "leader")
    }
    assert [rows[name][0].split()[0] for name in rows] == ["1.50", "1.00", "1.00"]  # node by node
    assert [rows[name][0].split()[2] for name in rows] == ["3.00", "2.00", "2.00"]  # round-robin
    assert all(float(row.split()[2]) > 0 for own in rows.values() for row in own[1:])  # the model's milliseconds
    assert max(map(len, done.stdout.splitlines())) <= 42  # a phone


# ------------------------------------------------------------------------------------------------ anywhere


@pytest.mark.parametrize(
    "command, told",
    [
        (["--nodes", "1", "true"], "'1' is not a whole number from 2 to 64"),
        (["--rate", "1gb; reboot", "true"], "is not a rate; write bits a second: 500kbit, 100mbit or 1gbit"),
        (["--limit", "0", "true"], "'0' is not a whole number from 1"),
    ],
)
def test_bad_input_is_told(command, told):
    done = run(*command)
    assert done.returncode == 2 and told in done.stderr


@pytest.fixture
def builder(monkeypatch):
    """The program as a module, which cannot build anything: what it would have built is in `built`."""
    monkeypatch.syspath_prepend(ROOT / "benchmarks")
    module = importlib.import_module("namespaces")
    module.built = []
    monkeypatch.setattr(module, "build", lambda *shape: module.built.append(shape))
    monkeypatch.setattr(module.signal, "signal", lambda *_: None)
    return module


@pytest.mark.skipif(sys.platform != "linux", reason="namespaces are part of Linux")
@pytest.mark.parametrize(
    "pid, told, why",
    [
        (None, None, ", and not process 1 of a cluster"),
        (1, "", "no parent has told"),
        (1, "net:[1] uts:[2]", "no parent has told"),
        (1, "own", "net, uts, ipc, mnt, pid: still those of the parent"),
        (1, "own net", "net: still those of the parent"),
    ],
)
def test_nothing_is_built_outside_of_a_cluster(builder, monkeypatch, capsys, pid, told, why):
    """As in the container whose process 1 somebody makes us."""
    read, write = os.pipe()
    own = builder.namespaces() if hasattr(builder, "namespaces") else []
    words = {"own": own, "own net": [*own[:1], *"abcd"], None: []}.get(told, (told or "").split())
    os.write(write, " ".join(words).encode())
    os.close(write)
    if pid:
        monkeypatch.setattr(builder.os, "getpid", lambda: pid)
    options = builder.parser().parse_args(["--inside", str(read), "true"])
    assert builder.inside(options) == 2 and builder.built == []
    assert why in capsys.readouterr().err
    os.close(read)


def test_without_a_command_it_helps():
    done = run()
    assert done.returncode == 0 and "mpirun -n 8" in done.stdout


def test_a_machine_without_the_tools_is_told_what_is_missing():
    bare = ENVIRONMENT | {"PATH": ""}
    done = run("true", environment=bare)
    (line,) = done.stderr.splitlines()
    assert done.returncode == 2 and ("`unshare` is missing" in line or "part of Linux" in line)
    skipped = run(program=[sys.executable, "benchmarks/several_machines.py"], environment=bare)
    assert skipped.returncode == 0 and skipped.stdout.startswith("skipped: namespaces.py: ")
