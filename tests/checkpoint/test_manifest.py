"""The manifest: what is written is read; whatever else is there is refused in words; folders and their names."""

import pytest

from reference.checkpoint.boxes import Box
from reference.checkpoint.manifest import (
    MANIFEST,
    CheckpointError,
    Manifest,
    Stored,
    StoredFile,
    StoredTensor,
    committed,
    folder_of,
    newest,
    read_manifest,
    step_of,
)

WHOLE = Manifest(
    7,
    "id",
    2,
    {
        "w": StoredTensor((4, 2), "F32", (Stored(Box((2, 0), (2, 2)), "f", 80, (1, 2)),)),
        "n": StoredTensor((), "U8", ()),
    },
    {"f": StoredFile(96, 80, 5)},
    {"rate": 0.1, "é": [None, True]},
    [1, {"a": "b"}],
)


def test_what_is_written_is_read():
    assert Manifest.from_json(WHOLE.to_json()) == WHOLE and WHOLE.nbytes == 96


def test_each_byte_counts():
    """The checksum is of the text, so no byte can be another one, but for white space behind the end."""
    text = WHOLE.to_json().encode()
    for place in range(len(text) - 1):
        damaged = text[:place] + bytes([text[place] ^ 1]) + text[place + 1 :]
        with pytest.raises(ValueError, match=r"damaged|has the format"):
            Manifest.from_json(damaged.decode(errors="replace"))


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", '{"format": "x"}', WHOLE.to_json()[:-40]])
def test_what_is_no_manifest_is_refused(text):
    with pytest.raises(ValueError, match="is not the manifest of a checkpoint, or is damaged"):
        Manifest.from_json(text)


def test_another_version_is_refused():
    with pytest.raises(ValueError, match=r"version 2; .* version 1 can be read"):
        Manifest.from_json(WHOLE.to_json().replace('"version":1', '"version":2'))


def test_names_of_folders():
    assert [folder_of(100), folder_of(100, 2)] == ["step-00000100", "step-00000100.2"]
    assert step_of("step-00000100") == (100, 0) and step_of("step-00000100.2") == (100, 2)
    assert step_of(folder_of(10**9)) == (10**9, 0)
    for other in ("step-1", "step-", "steps", "step-00000001.partial", "00000001", "step-00000001."):
        assert step_of(other) is None


def made(folder, *names):
    for name in names:
        (folder / name).mkdir()
        (folder / name / MANIFEST).write_text(WHOLE.to_json())


def test_the_newest_is_that_of_the_highest_step_that_has_a_manifest(tmp_path):
    made(tmp_path, "step-00000100", "step-00000020.1", "step-00000020", "other")
    (tmp_path / "step-00000200").mkdir()
    assert [path.name for path in committed(tmp_path)] == ["step-00000020", "step-00000020.1", "step-00000100"]
    assert newest(tmp_path).name == "step-00000100" and newest(tmp_path, 20).name == "step-00000020.1"
    assert newest(tmp_path, 200) is None and newest(tmp_path / "none") is None
    assert read_manifest(newest(tmp_path)) == WHOLE


def test_who_reads_a_damaged_one_is_told_where_to_go_back_to(tmp_path):
    made(tmp_path, "step-00000020", "step-00000100")
    path = tmp_path / "step-00000100"
    (path / MANIFEST).write_text(WHOLE.to_json()[:50])
    with pytest.raises(CheckpointError, match=r"step-00000100/manifest.json is not .*Go back to step 20, or move step"):
        read_manifest(path)
    (path / MANIFEST).unlink()
    with pytest.raises(CheckpointError, match=r"manifest.json cannot be read: No such file"):
        read_manifest(path)
    (tmp_path / "step-00000020" / MANIFEST).write_text("")
    with pytest.raises(CheckpointError, match="There is no other checkpoint to go back to"):
        read_manifest(tmp_path / "step-00000020")
    (path / MANIFEST).write_text(WHOLE.to_json())
    with pytest.raises(CheckpointError, match="Take step 100"):
        read_manifest(tmp_path / "step-00000020")
