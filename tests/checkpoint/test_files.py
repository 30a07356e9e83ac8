"""Real files: what is written is read, in pieces, and errors say what is wrong."""

import numpy as np
import pytest

from reference.checkpoint.files import FILES, HINT


def read(path, offset, count):
    found = np.zeros(count, np.uint8)
    with FILES.reading(path) as into:
        into(offset, found)
    return found.tobytes()


def test_what_is_written_piece_by_piece_is_read_in_ranges(tmp_path):
    piece = bytes(range(256)) * (HINT // 256)
    FILES.write(path := tmp_path / "file", [b"head", memoryview(piece), piece, b"end"])
    assert FILES.size(path) == 2 * HINT + 7
    assert read(path, 0, 6) == b"head\0\1" and read(path, 2 * HINT, 7) == piece[-4:] + b"end"
    with pytest.raises(OSError, match=f"ends at byte {2 * HINT + 7:,}"):
        read(path, 2 * HINT, 8)


def test_folders_names_and_renames(tmp_path):
    FILES.make_folder(tmp_path / "a/b/c")
    FILES.make_folder(tmp_path / "a")  # is there
    FILES.write(old := tmp_path / "a/old", [b"x"], sync=False)
    FILES.rename(old, tmp_path / "a/new")
    assert FILES.names(tmp_path / "a") == ["b", "new"] and FILES.names(tmp_path / "none") == []
    FILES.remove(old)
    FILES.remove(tmp_path / "a/new")
    FILES.remove_folder(tmp_path / "a/b")
    FILES.remove_folder(tmp_path / "a/b")
    FILES.sync_folder(tmp_path / "a")
    assert FILES.names(tmp_path / "a") == [] and FILES.free(tmp_path) > 0
