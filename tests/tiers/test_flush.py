"""Flushing: buffered chunks begin to go to the drive before fsync, and nothing else does."""

import os

import pytest

from reference.tiers.blocks import BLOCK, Blocks, Format, pinned
from reference.tiers.flush import begin_to_flush

SMALL = Format(chunk=2 * BLOCK)


@pytest.mark.parametrize("direct, fsync, begun", [(False, True, 3), (False, False, 0), (True, True, 0)])
def test_buffered_chunks_begin_to_be_flushed_before_fsync(tmp_path, monkeypatch, direct, fsync, begun):
    seen, flush = [], os.fsync
    monkeypatch.setattr("reference.tiers.blocks.begin_to_flush", lambda _file, *where: seen.append(where))
    monkeypatch.setattr(os, "fsync", lambda file: (seen.append("fsync"), flush(file)))
    Blocks(SMALL._replace(direct=direct, fsync=fsync)).write(tmp_path / "x", pinned(5000))
    chunks = [(BLOCK, 8192), (3 * BLOCK, 8192), (5 * BLOCK, 20000 - 16384)][:begun]
    assert sorted(seen[:begun]) == chunks and seen[begun:] == ["fsync"] * 2 * fsync


def test_to_begin_changes_no_byte(tmp_path):
    (tmp_path / "x").write_bytes(b"abc" * BLOCK)
    with open(tmp_path / "x", "r+b") as file:
        begin_to_flush(file.fileno(), 0, 2 * BLOCK)
        assert file.read() == b"abc" * BLOCK
