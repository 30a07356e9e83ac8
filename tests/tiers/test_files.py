"""A tier of files: what it costs on the clock, and that a state is one step's, whoever dies and whatever is full."""

import errno
import os

import pytest
import torch

from reference import mpi
from reference.tiers.blocks import BLOCK, Format, TierError
from reference.tiers.files import MANIFEST, FileTier
from reference.tiers.tier import Tier
from reference.worlds import launch

SLOW = Tier("slow", read=1000.0, write=500.0, latency=0.25)
SMALL = Format(chunk=2 * BLOCK, fsync=False)
NAMES = ("a", "b")


def write_state(below, step, names=NAMES):
    """Tensors that tell whose they are, and of which step."""
    for name in names:
        below.start_write(name, torch.full((100,), 10.0 * step + below.comm.rank))
    below.commit(step)


def read_state(below, names=NAMES):
    """What each tensor says, each of one value."""
    found = []
    for name in names:
        below.start_read(name, target := torch.zeros(100)).wait()
        assert (target == target[0]).all()
        found.append(target[0].item())
    return found


def test_states_follow_each_other_and_old_files_go(world, tmp_path):
    def program(comm):
        below = FileTier(comm, tmp_path, SLOW, SMALL)
        found = []
        for step in (1, 2, 3):
            write_state(below, step, NAMES if step < 3 else ("b",))
            found.append(read_state(below))
        again = FileTier(comm, tmp_path, SLOW, SMALL)
        assert (again.step, "a" in again, "c" in again) == (3, True, False)
        with pytest.raises(KeyError):
            again.start_read("c", torch.zeros(1))
        return found, read_state(again), below.bytes_written, below.bytes_read, below.nbytes_on_drive()

    for rank, (found, again, written, read, on_drive) in enumerate(launch(program, 3, world=world).results):
        assert found == [[10 + rank] * 2, [20 + rank] * 2, [20 + rank, 30 + rank]] and again == found[-1]
        assert (written, read, on_drive) == (5 * 400, 6 * 400, 2 * 2 * BLOCK)
    assert len(os.listdir(tmp_path)) == 3 * 2 + 1


def test_reads_and_writes_are_charged_to_the_clock_and_hidden_behind_computing(tmp_path):
    def program(comm, computing):
        below = FileTier(comm, tmp_path / str(computing), SLOW, SMALL)
        start = comm.wtime()
        jobs = [below.start_write(name, torch.ones(100)) for name in NAMES]
        mpi.compute(comm, computing)
        for job in jobs:
            job.wait()
        middle = comm.wtime()
        below.start_read("a", torch.zeros(100)).wait()
        return middle - start, comm.wtime() - middle, below.reads.nbytes, below.writes.nbytes

    writes, read = 2 * (0.25 + 400 / 500), 0.25 + 400 / 1000
    assert launch(program, 1, 0.0).results == [pytest.approx((writes, read, 400, 800))]
    assert launch(program, 1, 5.0).results == [pytest.approx((5.0, read, 400, 800))]


def test_what_was_written_and_not_committed_can_be_read_and_is_not_the_state(tmp_path):
    def program(comm):
        below = FileTier(comm, tmp_path, SLOW, SMALL)
        write_state(below, 1)
        below.start_write("a", torch.full((100,), 7.0))
        below.start_write("a", torch.full((100,), 8.0))
        return read_state(below), read_state(FileTier(comm, tmp_path, SLOW, SMALL))

    assert launch(program, 1).results == [([8, 10], [10, 10])]


def full_on(comm, ranks, left):
    """os.pwrite on a drive that is full after so many bytes, on some ranks."""
    used = [0]

    def pwrite(file, data, offset):
        used[0] += len(data)
        if comm.rank in ranks and used[0] > left:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(file, data, offset)

    return pwrite


@pytest.mark.parametrize("ranks", [[1], [0, 2]])
def test_a_drive_that_is_full_on_one_rank_fails_all_and_the_state_before_is_whole(world, tmp_path, ranks):
    def program(comm):
        below = FileTier(comm, tmp_path, SLOW, SMALL, pwrite=full_on(comm, ranks, 6 * BLOCK))
        write_state(below, 1)
        try:
            write_state(below, 2)
        except TierError as error:
            return str(error), read_state(below), read_state(FileTier(comm, tmp_path, SLOW, SMALL)), below.step

    results = launch(program, 3, world=world).results
    assert len({said for said, *_ in results}) == 1
    said, *_ = results[0]
    assert f"rank{ranks[0]}.b.2 in {tmp_path} cannot be written: chunk 0 (bytes 0 to 400): No space left" in said
    assert "The state of step 1 is whole" in said and ("[rank " in said)
    for rank, (_, found, opened, step) in enumerate(results):
        assert found == opened == [10 + rank] * 2 and step == 1
    assert len(os.listdir(tmp_path)) == 3 * 2 + 1


@pytest.mark.parametrize("dies_after", [0, 1, 2])
def test_a_rank_that_dies_leaves_the_state_before_whole(tmp_path, dies_after):
    """Rank 1 dies before, while, and just after it writes its tensors of step 2."""

    def program(comm, go_on):
        below = FileTier(comm, tmp_path, SLOW, SMALL)
        if go_on:
            return below.step, read_state(below), below.nbytes_on_drive()
        write_state(below, 1)
        for number, name in enumerate(NAMES):
            if comm.rank == 1 and number == dies_after:
                raise SystemExit("dies")
            below.start_write(name, torch.full((100,), 20.0 + comm.rank)).wait()
        if comm.rank == 1:
            raise SystemExit("dies")
        below.commit(2)

    with pytest.raises(Exception, match="dies"):
        launch(program, 3, False)
    for rank, (step, found, on_drive) in enumerate(launch(program, 3, True).results):
        assert step == 1 and found == [10 + rank] * 2 and on_drive == 2 * 2 * BLOCK
    assert not [name for name in os.listdir(tmp_path) if "partial" in name or name.endswith(".2")]


def test_a_state_of_other_ranks_is_refused(tmp_path):
    launch(lambda comm: write_state(FileTier(comm, tmp_path, SLOW, SMALL), 1), 2)
    with pytest.raises(Exception, match="is that of 2 ranks, and 3 are running: start as many"):
        launch(lambda comm: FileTier(comm, tmp_path, SLOW, SMALL), 3)


def test_a_manifest_that_cannot_be_written_and_a_folder_that_cannot_be_made(tmp_path):
    def program(comm):
        below = FileTier(comm, tmp_path / "state", SLOW, SMALL)
        write_state(below, 1)
        os.makedirs(tmp_path / "state" / (MANIFEST + ".partial"), exist_ok=True)
        with pytest.raises(TierError, match=r"manifest.json cannot be written: .* The state of step 1 is whole"):
            write_state(below, 2)
        return read_state(below)

    assert launch(program, 2).results == [[10, 10], [11, 11]]
    (tmp_path / "file").write_text("")
    with pytest.raises(Exception, match=r"the folder .*file/state cannot be made: Not a directory"):
        launch(lambda comm: FileTier(comm, tmp_path / "file" / "state") and None, 2)
