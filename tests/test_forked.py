"""What is forked for a test is ended with all its children, and says where it was; its ranks part before they hang."""

import os
import re
import signal
import time

import psutil
import pytest

from reference.perf.pace import pace

from . import forked, ranks

pytestmark = pytest.mark.xdist_group("real ranks")  # who imports torch there, already
PARTS = """
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(1, 1))
{first}
dist.destroy_process_group()
print("parted")
"""


def wait_in_this_function(rank: int, folder: str) -> None:
    """Does not end, not even when it is asked to."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    open(f"{folder}/{rank} {os.getpid()}", "w").close()
    while True:
        time.sleep(1)


def wait_on_two_ranks(folder: str) -> None:
    """Ends when its ranks do."""
    ranks.fork(wait_in_this_function, 2, folder)


def fail_and_leave_a_child(folder: str) -> None:
    """The parent of a process that goes on when it has failed."""
    if not os.fork():
        wait_in_this_function(0, folder)
    while not os.listdir(folder):
        time.sleep(0.01)
    raise ValueError("no")


def print_where_they_meet() -> None:
    """Two ranks say where they meet."""
    ranks.fork(_print_where_they_meet, 2)


def _print_where_they_meet(rank: int) -> None:
    import torch.distributed as dist

    dist.init_process_group("gloo")
    dist.barrier()
    print(rank, "of", dist.get_world_size(), "at", os.environ["MASTER_PORT"])
    dist.destroy_process_group()


def run(program: str) -> None:
    """Run the source of a program on one rank."""
    ranks.fork(_run, 1, program)


def _run(_: int, program: str) -> None:
    ranks.refuse_ddp_that_outlives_its_group()
    exec(program, {})


def left(folder) -> list:
    """The processes that still are, of those that wrote their numbers to a folder; what was killed needs a moment."""
    pids = [int(name.split()[1]) for name in os.listdir(folder)]
    return psutil.wait_procs([psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)], 5 * pace())[1]


def test_ranks_that_hang_say_where_and_are_ended(tmp_path):
    with pytest.raises(RuntimeError, match=r"wait_on_two_ranks.* was not done after 3 s") as error:
        forked.call(wait_on_two_ranks, str(tmp_path), seconds=3)
    pids = sorted(int(name.split()[1]) for name in os.listdir(tmp_path))
    stacks = re.split(r"\nProcess (\d+) of .*\n", str(error.value))[1:]
    said = {int(pid): stack for pid, stack in zip(stacks[::2], stacks[1::2], strict=True)}
    assert len(pids) == 2 and len(said) == 3
    assert all("in wait_in_this_function" in said[pid] for pid in pids)
    (parent,) = (said[pid] for pid in said if pid not in pids)
    assert "in wait_on_two_ranks" in parent and "in wait_in_this_function" not in parent
    assert not left(tmp_path)


def test_a_call_that_fails_leaves_no_child(tmp_path):
    with pytest.raises(RuntimeError, match=r"(?s)fail_and_leave_a_child.* failed.*ValueError: no"):
        forked.call(fail_and_leave_a_child, str(tmp_path))
    assert len(os.listdir(tmp_path)) == 1 and not left(tmp_path)


def test_a_call_that_hangs_is_ended_before_its_test_is():
    assert forked.call.__kwdefaults__["seconds"] <= 90


def test_ranks_meet_at_a_store_that_their_parent_serves():
    lines = forked.call(print_where_they_meet).splitlines()
    (port,) = {line.split()[-1] for line in lines}
    assert sorted(lines) == [f"{rank} of 2 at {port}" for rank in range(2)]


def test_a_ddp_is_freed_before_its_process_group():
    assert forked.call(run, PARTS.format(first="del model")) == "parted\n"
    with pytest.raises(RuntimeError, match="a DDP outlives its process group"):
        forked.call(run, PARTS.format(first=""))
