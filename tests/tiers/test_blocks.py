"""One tensor in one file: whole or not there, and damage is found."""

import errno
import os
import resource

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.tiers.blocks import BLOCK, Blocks, Format, TierError, pinned, rounded
from reference.tiers.uring import why_not

from ..examples import examples

SMALL = Format(chunk=2 * BLOCK, fsync=False)
WAYS = {
    "buffered": SMALL,
    "direct": SMALL._replace(direct=True, uring=False),
    "io_uring": SMALL._replace(direct=True, uring=True),
}


@pytest.fixture(params=WAYS, scope="module")
def way(request):
    """The format of each way."""
    if request.param == "io_uring" and (reason := why_not()):
        pytest.skip(reason)
    return WAYS[request.param]


def numbered(n):
    return torch.arange(n, dtype=torch.float32)


@examples(8)
@given(n=st.integers(0, 9000), at_page=st.booleans())
def test_what_is_read_is_what_was_written(tmp_path_factory, way, n, at_page):
    folder = tmp_path_factory.mktemp("tier")
    blocks = Blocks(way)
    source = pinned(n).copy_(numbered(n)) if at_page else numbered(n)
    moved = blocks.write(folder / "x", source)
    target = torch.full((n,), -1.0)
    assert blocks.read(folder / "x", target) == moved == os.path.getsize(folder / "x") == BLOCK + rounded(4 * n)
    assert torch.equal(target, numbered(n)) and os.listdir(folder) == ["x"]
    assert blocks.buffers_made <= SMALL.workers


def test_an_aligned_tensor_needs_no_buffer(tmp_path):
    blocks = Blocks(WAYS["direct"])
    blocks.write(tmp_path / "x", pinned(3 * BLOCK))
    blocks.read(tmp_path / "x", pinned(3 * BLOCK))
    assert blocks.buffers_made == 0
    blocks.write(tmp_path / "y", torch.zeros(3 * BLOCK + 1)[1:])
    assert 1 <= blocks.buffers_made <= SMALL.workers


def test_sixteen_bits_and_refusals(tmp_path, way):
    blocks, short = Blocks(way), numbered(100).bfloat16()
    blocks.write(tmp_path / "x", short)
    blocks.read(tmp_path / "x", back := torch.zeros_like(short))
    assert torch.equal(back, short)
    with pytest.raises(ValueError, match="contiguous"):
        blocks.write(tmp_path / "x", torch.zeros(4, 3).t())
    with pytest.raises(ValueError, match="multiple of 4096 bytes"):
        Blocks(Format(chunk=5000))


def flip(place):
    """Damage one byte."""
    return lambda data: data[:place] + bytes([data[place] ^ 1]) + data[place + 1 :]


@pytest.mark.parametrize(
    "harm, says",
    [
        (lambda data: data[:-1], r"x in .* has 24,575 bytes where 24,576 are wanted: it was cut off"),
        (lambda data: data[:BLOCK], r"has 4,096 bytes where 24,576"),
        (flip(BLOCK + 19_999), r"damaged: chunk 2 \(bytes 16,384 to 20,000\) has the checksum [0-9a-f]{8} where"),
        (flip(BLOCK), r"damaged: chunk 0 \(bytes 0 to 8,192\)"),
        (flip(0), r"the head of x .* is not that of 20,000 bytes in chunks of 8,192"),
        (flip(40), r"the head of x"),
    ],
)
def test_damage_is_found_and_named(tmp_path, way, harm, says):
    blocks, path = Blocks(way), tmp_path / "x"
    blocks.write(path, numbered(5000))
    path.write_bytes(harm(path.read_bytes()))
    with pytest.raises(TierError, match=says):
        blocks.read(path, torch.zeros(5000))


def test_missing(tmp_path, way):
    with pytest.raises(TierError, match=r"x in .* cannot be read: No such file"):
        Blocks(way).read(tmp_path / "x", torch.zeros(3))


def full_after(writes):
    """An os.pwrite of a drive that is full after so many writes, the last of which is cut short, as the kernel does."""
    left = [writes]

    def pwrite(file, data, offset):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(file, data[: max(len(data) // 2, 1)] if left[0] == 0 else data, offset)

    return pwrite


@pytest.mark.parametrize("writes", [0, 1, 2])
def test_a_full_drive_leaves_the_old_file(tmp_path, way, writes):
    path = tmp_path / "x"
    Blocks(way).write(path, numbered(5000))
    says = (
        rf"x in .* cannot be written: chunk {max(writes - 1, 0)} \(bytes [\d,]+ to [\d,]+\): No space left on device. "
        r"The tensor has 20,000 bytes; [\d,]+ are free on the drive. What was there before is whole. Free 20,000 bytes"
    )
    with pytest.raises(TierError, match=says) as error:
        Blocks(way._replace(workers=1), full_after(writes)).write(path, -numbered(5000))
    assert error.value.errno == errno.ENOSPC
    Blocks(SMALL).read(path, target := torch.zeros(5000))
    assert torch.equal(target, numbered(5000)) and os.listdir(tmp_path) == ["x"]


def test_a_drive_that_is_full_at_the_last_block(tmp_path):
    def full_at_the_head(file, data, offset):
        if offset == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return os.pwrite(file, data, offset)

    with pytest.raises(TierError, match="cannot be written: the head of 4,096 bytes: No space left"):
        Blocks(SMALL, full_at_the_head).write(tmp_path / "x", numbered(10))
    assert os.listdir(tmp_path) == []


def test_a_write_that_is_cut_short_goes_on(tmp_path):
    def by_halves(file, data, offset):
        return os.pwrite(file, data[: max(len(data) // 2, 1)], offset)

    Blocks(SMALL, by_halves).write(tmp_path / "x", numbered(5000))
    Blocks(SMALL).read(tmp_path / "x", target := torch.zeros(5000))
    assert torch.equal(target, numbered(5000))


def test_a_limit_of_the_system_on_file_sizes(tmp_path, way):
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    try:
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 * BLOCK, before[1]))
        with pytest.raises(TierError, match=r"chunk 1 .*File too large"):
            Blocks(way._replace(workers=1)).write(tmp_path / "x", numbered(5000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert os.listdir(tmp_path) == []
