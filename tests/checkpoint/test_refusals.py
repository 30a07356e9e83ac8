"""A checkpoint that is not what was written is refused with the file's name; the one before still loads."""

import re
import shutil

import pytest
import torch

from reference.checkpoint import CheckpointError, at, load, read_manifest, save
from reference.checkpoint.load import fill
from reference.worlds import launch

from .states import portions, right


@pytest.fixture
def folder(tmp_path):
    """Steps 1 and 2, saved by 2 ranks."""

    def program(comm):
        for step in (1, 2):
            save(comm, tmp_path, step, portions("rows", comm.rank, comm.size, step), {"rate": 0.1})

    launch(program, 2)
    return tmp_path


def loading(comm, folder, step=None):
    """What is said, or the step."""
    mine = portions("columns", comm.rank, comm.size, empty=True)
    try:
        loaded = load(comm, folder, mine, step)
    except CheckpointError as error:
        return str(error)
    return loaded.step if right(mine, loaded.step) else "other bits"


def corrupt(folder):
    file = folder / "step-00000002/rank00001.safetensors"
    content = bytearray(file.read_bytes())
    content[-10] ^= 4
    file.write_bytes(content)


def truncate(folder):
    file = folder / "step-00000002/rank00001.safetensors"
    file.write_bytes(file.read_bytes()[:-10])


def delete(folder):
    (folder / "step-00000002/rank00001.safetensors").unlink()


def mix(folder):
    shutil.copy(folder / "step-00000001/rank00001.safetensors", folder / "step-00000002/rank00001.safetensors")


def mix_manifests(folder):
    shutil.copy(folder / "step-00000001/manifest.json", folder / "step-00000002/manifest.json")


def empty_manifest(folder):
    (folder / "step-00000002/manifest.json").write_text("")


def no_permission(folder):
    """A folder in the place of the file, which nobody can read: tests may run as root, who may read all."""
    delete(folder)
    (folder / "step-00000002/rank00001.safetensors").mkdir()


REFUSED = {
    corrupt: r"rank00001.safetensors is damaged: bytes [\d,]+ to [\d,]+ are not those that were written",
    truncate: r"rank00001.safetensors has [\d,]+ bytes where [\d,]+ were written: it was cut off",
    delete: r"rank00001.safetensors is missing",
    mix: r"rank00001.safetensors belongs to another checkpoint \(\w{16}, not \w{16}\)",
    mix_manifests: r"rank0000\d.safetensors belongs to another checkpoint",
    empty_manifest: r"manifest.json is not the manifest of a checkpoint, or is damaged",
    no_permission: r"rank00001.safetensors (has [\d,]+ bytes where|cannot be read)",
}


@pytest.mark.parametrize("damage", REFUSED)
def test_it_is_refused_with_the_files_name_and_the_one_before_loads(folder, damage):
    damage(folder)
    said = launch(loading, 3, folder).results
    assert all(re.search(f"step-00000002/{REFUSED[damage]}.*Go back to step 1", one) for one in said), said
    assert len(set(said)) == 1
    assert launch(loading, 3, folder, 1).results == [1, 1, 1]


def test_any_byte_counts(folder):
    """Every fifth byte of every file, in turn: none can be another one without being noticed."""
    path, mine = folder / "step-00000002", portions("replicated", 0, 1, empty=True)
    fill(path, read_manifest(path), mine)
    assert right(mine, 2)
    count = 0
    for file in sorted(path.iterdir()):
        content = file.read_bytes()
        for place in range(0, len(content) - 1, 5):  # the manifest's last byte is the end of its line
            file.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            with pytest.raises(CheckpointError, match=file.name):
                fill(path, read_manifest(path), mine)
            count += 1
        file.write_bytes(content)
    assert count > 300


def test_a_part_that_is_not_read_is_not_missed(folder):
    """Who wants what is in whole files can have it."""
    delete(folder)

    def program(comm):
        load(comm, folder, {"w": at(w := torch.zeros(4, 6), (8, 6), (0, 0))})
        return w[0, :2].tolist()

    assert launch(program, 1).results == [[200.0, 201.0]]
