"""io_uring: requests that end in any order, in part or not at all; and what is done where there is none."""

import errno
import os
import threading
import time

import pytest
import torch

from reference.tiers import uring
from reference.tiers.blocks import BLOCK, Blocks, Format, TierError, pinned
from reference.tiers.buffers import address, paged
from reference.tiers.format import way_of
from reference.tiers.huge_pages import HUGE
from reference.tiers.storages import FolderStorage

SMALL = Format(chunk=2 * BLOCK, direct=True, fsync=False, workers=3)
N = 11 * BLOCK // 4 + 5  # elements in 6 chunks, the last of which ends within a block

has_uring = pytest.mark.skipif(bool(uring.why_not()), reason=uring.why_not())


def numbered(n=N):
    return torch.arange(n, dtype=torch.float32)


@pytest.mark.parametrize("nbytes", [0, BLOCK, 3 * BLOCK, HUGE, 2 * HUGE])
def test_a_bytearray_on_a_page(nbytes):
    memory = paged(nbytes)
    assert len(memory) == nbytes and address(memory) % (BLOCK if nbytes < HUGE else HUGE) == 0 and not any(memory)


def test_it_is_chosen_where_it_is_and_where_files_are_direct(monkeypatch):
    there = "direct" if uring.why_not() else "io_uring"
    assert [way_of(Format(direct=direct)) for direct in (False, True)] == ["buffered", there]
    assert way_of(Format(direct=True, uring=False)) == "direct"
    with pytest.raises(OSError, match="no io_uring: it is for direct I/O here"):
        way_of(Format(uring=True))
    monkeypatch.setattr(uring, "why_not", lambda: "the system refuses it")
    assert way_of(Format(direct=True)) == "direct"
    with pytest.raises(OSError, match="no io_uring: the system refuses it"):
        Blocks(Format(direct=True, uring=True))


@pytest.mark.parametrize(
    "trial, says",
    [
        ("raise PermissionError(1, 'Operation not permitted')", "the system refuses it: .*Operation not permitted"),
        ("import os, signal; os.kill(os.getpid(), signal.SIGILL)", r"does not run on this processor \(SIGILL\)"),
        ("import time; time.sleep(60)", "could not be tried: .*timed out"),
        (None, "not installed"),
    ],
)
def test_why_not(monkeypatch, trial, says):
    """A trial that dies takes a child with it, and not the program."""
    monkeypatch.setattr(uring, "liburing", trial and object())
    monkeypatch.setattr(uring, "TRIAL", trial)
    monkeypatch.setattr(uring, "SECONDS", 0.5 if trial and "sleep" in trial else uring.SECONDS)
    uring.why_not.cache_clear()
    with pytest.raises(OSError, match=f"no io_uring: .*{says}"):
        way_of(SMALL._replace(uring=True))
    assert way_of(SMALL) == "direct"
    monkeypatch.undo()
    uring.why_not.cache_clear()


@has_uring
def test_a_folder_uses_it_and_another_way_reads_what_it_wrote(tmp_path):
    folder = FolderStorage(tmp_path, direct=True, chunk=2 * BLOCK)
    folder.write("a", numbered())
    assert folder.blocks.way == "io_uring"
    for way in (SMALL._replace(uring=False), SMALL._replace(direct=False), SMALL):
        Blocks(way).read(tmp_path / "a", target := torch.zeros(N))
        assert torch.equal(target, numbered())


@has_uring
def test_at_most_so_many_are_under_way_and_buffers_are_kept(tmp_path, monkeypatch):
    assert not uring.why_not()  # asked once in a process, with a request of its own
    seen, start = [], uring.Ring.start

    def noting(ring, *request):
        start(ring, *request)
        seen.append((ring.under_way, address(request[3])))

    monkeypatch.setattr(uring.Ring, "start", noting)
    blocks = Blocks(SMALL)
    for _ in range(3):
        blocks.write(tmp_path / "x", numbered())
        blocks.read(tmp_path / "x", torch.zeros(N))
    assert max(count for count, _ in seen) == SMALL.workers and len(seen) == 6 * 6
    whole = [place for number, (_, place) in enumerate(seen) if number % 6 < 5]
    assert len(set(whole)) <= SMALL.workers + 1


def fails(monkeypatch, number, outcome):
    """Have the request of this number, each time, end with this error."""
    ended = uring.Ring.ended

    def other(ring):
        k, moved = ended(ring)
        return k, OSError(outcome, os.strerror(outcome)) if k == number else moved

    monkeypatch.setattr(uring.Ring, "ended", other)


@has_uring
@pytest.mark.parametrize("number", [0, 3, 5])
def test_a_full_drive_leaves_the_old_file(tmp_path, monkeypatch, number):
    blocks = Blocks(SMALL)
    blocks.write(tmp_path / "x", numbered())
    with monkeypatch.context() as patches:
        fails(patches, number, errno.ENOSPC)
        with pytest.raises(TierError, match=rf"cannot be written: chunk {number} \(.*No space left") as error:
            blocks.write(tmp_path / "x", -numbered())
    assert error.value.errno == errno.ENOSPC and os.listdir(tmp_path) == ["x"]
    blocks.read(tmp_path / "x", target := torch.zeros(N))
    assert torch.equal(target, numbered())


@has_uring
def test_a_read_that_fails_is_an_error(tmp_path, monkeypatch):
    blocks = Blocks(SMALL)
    blocks.write(tmp_path / "x", numbered())
    fails(monkeypatch, 2, errno.EIO)
    with pytest.raises(TierError, match=r"x in .* cannot be read: Input/output error"):
        blocks.read(tmp_path / "x", torch.zeros(N))


@has_uring
@pytest.mark.parametrize("done", [0, BLOCK])
def test_a_request_that_moves_less_is_finished(tmp_path, monkeypatch, done):
    """By an ordinary call, from where it has ended."""
    start, ended, asked = uring.Ring.start, uring.Ring.ended, {}

    def cut(ring, kind, number, file, block, offset):
        part = paged(BLOCK)
        part[:] = block[:BLOCK]
        asked[number] = part, block
        start(ring, kind, number, file, part, offset)

    def early(ring):
        number, _ = ended(ring)
        part, block = asked[number]
        block[:done] = part[:done]
        return number, done

    monkeypatch.setattr(uring.Ring, "start", cut)
    monkeypatch.setattr(uring.Ring, "ended", early)
    blocks = Blocks(SMALL)
    blocks.write(tmp_path / "x", numbered())
    blocks.read(tmp_path / "x", target := torch.zeros(N))
    assert torch.equal(target, numbered())


@has_uring
def test_a_file_that_ends_while_it_is_read(tmp_path, monkeypatch):
    blocks = Blocks(SMALL)
    blocks.write(tmp_path / "x", numbered())
    monkeypatch.setattr(blocks, "_check_length", lambda *_: os.truncate(tmp_path / "x", 5 * BLOCK))
    with pytest.raises(TierError, match=f"x in .* ends at byte {5 * BLOCK:,}, while it is read"):
        blocks.read(tmp_path / "x", torch.zeros(N))


@has_uring
def test_it_waits_without_pythons_lock():
    """Another thread goes on meanwhile: what it writes ends the wait."""
    into, out = os.pipe()
    ring, block = uring.Ring(1), paged(BLOCK)
    ring.start(uring.READ, 7, into, block, 0)
    threading.Thread(target=lambda: (time.sleep(0.05), os.write(out, b"abc"))).start()
    assert ring.ended() == (7, 3) and block[:3] == b"abc"
    ring.close()
    for end in (into, out):
        os.close(end)


@has_uring
def test_two_threads_at_once(tmp_path):
    blocks, right = Blocks(SMALL), []

    def go(name, sign):
        for _ in range(20):
            blocks.write(tmp_path / name, sign * numbered())
            blocks.read(tmp_path / name, target := pinned(N))
            right.append(torch.equal(target, sign * numbered()))

    threads = [threading.Thread(target=go, args=(name, sign)) for name, sign in (("a", 1), ("b", -1))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(right) == 40 and all(right)


@has_uring
def test_nothing_is_left_open(tmp_path):
    blocks = Blocks(SMALL)
    before = len(os.listdir("/proc/self/fd"))
    for _ in range(5):
        blocks.write(tmp_path / "x", numbered())
        blocks.read(tmp_path / "x", torch.zeros(N))
    assert len(os.listdir("/proc/self/fd")) == before
