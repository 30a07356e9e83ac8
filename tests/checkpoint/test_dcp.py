"""torch.distributed.checkpoint: it reads ours, we read its; without pickle."""

import json
from math import ceil

import pytest
import torch
import torch.distributed.checkpoint as dcp

from reference.checkpoint import CheckpointError, at, everything, load
from reference.checkpoint.dcp import adopt
from reference.checkpoint.head import FIRST
from reference.worlds import launch


def values(name):
    return torch.arange(35.0).reshape(7, 5) + 100 * ["rows", "columns", "whole"].index(name)


@pytest.fixture
def theirs(oracles, tmp_path):
    """A folder that torch has written, named as ours are."""
    folder = tmp_path / "step-00000003"
    folder.mkdir()
    for name, content in oracles["dcp_checkpoint"][0][0].items():
        (folder / name).write_bytes(content)
    return folder


@pytest.mark.mpi
def test_torch_loads_what_we_have_saved(oracles):
    """We: 4 ranks, ranges of elements, and columns; torch: 3 ranks, rows, columns, and copies."""
    for rank, (_, found) in enumerate(oracles["dcp_checkpoint"]):
        rows, columns = slice(ceil(7 / 3) * rank, ceil(7 / 3) * (rank + 1)), slice(2 * rank, 2 * rank + 2)
        assert torch.equal(found["rows"], values("rows")[rows])
        assert torch.equal(found["columns"], values("columns")[:, columns])
        assert torch.equal(found["whole"], values("whole"))


@pytest.mark.mpi
def test_we_load_what_torch_has_saved(theirs):
    manifest = adopt(theirs)
    assert manifest.step == 3 and {name: of.shape for name, of in manifest.tensors.items()} == dict.fromkeys(
        ("rows", "columns", "whole"), (7, 5)
    )

    def program(comm):
        rows = slice(7 * comm.rank // 2, 7 * (comm.rank + 1) // 2)
        mine = {name: torch.zeros(rows.stop - rows.start, 5) for name in manifest.tensors}
        loaded = load(comm, theirs.parent, {name: at(one, (7, 5), (rows.start, 0)) for name, one in mine.items()})
        return loaded.step, all(torch.equal(one, values(name)[rows]) for name, one in mine.items())

    assert launch(program, 2).results == [(3, True)] * 2


@pytest.mark.mpi
def test_a_shard_that_is_missing_leaves_a_hole(theirs):
    (theirs / "shard-00002-model-00001-of-00001.safetensors").unlink()
    with pytest.raises(CheckpointError, match=r"\[0:7, 2:4\] of columns is in no file of .*: a shard is missing"):
        adopt(theirs)


@pytest.mark.mpi
def test_what_is_damaged_is_refused(theirs):
    file = theirs / "shard-00001-model-00001-of-00001.safetensors"
    content = file.read_bytes()
    for damaged, words in {
        content[:-4]: "has .* bytes where .* are told: it was cut off",
        FIRST.pack(10**9) + content[8:]: "its head is longer than the file",
        content[:8] + b"[" + content[9:]: "its head is damaged",
        content[:5]: "it ends at byte 5",
    }.items():
        file.write_bytes(damaged)
        with pytest.raises(CheckpointError, match=f"shard-00001.*{words}"):
            adopt(theirs)


@pytest.mark.parametrize(
    "writer, reader",
    [("FileSystemWriter", "FileSystemReader"), ("HuggingFaceStorageWriter", "HuggingFaceStorageReader")],
)
@pytest.mark.filterwarnings("ignore:torch.distributed is")
def test_torch_does_not_notice_a_changed_bit(tmp_path, writer, reader):
    """In either format, as the page says; `load` would (test_refusals.py)."""
    more = {"save_distributed": True} if "Face" in writer else {}
    dcp.save({"w": torch.ones(64)}, storage_writer=getattr(dcp, writer)(str(tmp_path), **more), no_dist=True)
    for file in tmp_path.iterdir():
        content = bytearray(file.read_bytes())
        if (place := content.find(torch.ones(64).numpy().tobytes())) >= 0:
            content[place + 2] ^= 1
            file.write_bytes(content)
    found = {"w": torch.zeros(64)}
    dcp.load(found, storage_reader=getattr(dcp, reader)(str(tmp_path)), no_dist=True)
    assert found["w"].ne(1).sum() == 1 and found["w"][0] != 1


def test_folders_of_others_are_refused(tmp_path):
    with pytest.raises(CheckpointError, match="is not named as a checkpoint's folder"):
        adopt(tmp_path)
    (tmp_path / "step-00000001").mkdir()
    with pytest.raises(CheckpointError, match="has no tensors"):
        adopt(tmp_path / "step-00000001")


def test_a_file_without_offsets_holds_whole_tensors(tmp_path):
    """As of any other program that writes safetensors."""
    head = json.dumps({"w": {"dtype": "I16", "shape": [2], "data_offsets": [0, 4]}}).encode()
    (tmp_path / "step-00000001").mkdir()
    (tmp_path / "step-00000001/model.safetensors").write_bytes(FIRST.pack(len(head)) + head + b"\1\0\2\0")
    adopt(tmp_path / "step-00000001")

    def program(comm):
        w = torch.zeros(2, dtype=torch.int16)
        load(comm, tmp_path, {"w": everything(w)})
        return w.tolist()

    assert launch(program, 1).results == [[1, 2]]
