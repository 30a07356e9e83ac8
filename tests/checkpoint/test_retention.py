"""What is kept; a checkpoint that is being deleted is none any more before its first shard is gone."""

import pytest
import torch

from reference.checkpoint import committed, everything, keep, save
from reference.checkpoint.files import Files
from reference.checkpoint.manifest import MANIFEST
from reference.worlds import launch


def saved(folder, *steps):
    def program(comm):
        for step in steps:
            save(comm, folder, step, {"w": everything(torch.ones(2))})

    launch(program, 1)


def test_the_newest_are_kept_and_leftovers_go(tmp_path):
    saved(tmp_path, 1, 2, 3, 3)
    for leftover in ("step-00000002.1", "step-00000009", "mine"):
        (tmp_path / leftover).mkdir()
    assert [path.name for path in keep(tmp_path, 2)] == ["step-00000001", "step-00000002"]
    there = sorted(path.name for path in tmp_path.iterdir())
    assert there == ["mine", "step-00000003", "step-00000003.1", "step-00000009"]  # 9 may be under way
    assert keep(tmp_path, 5) == []
    with pytest.raises(ValueError, match="at least 1 checkpoint is kept, got 0"):
        keep(tmp_path, 0)


def test_the_manifest_goes_first_and_its_name_is_flushed(tmp_path):
    done = []

    class Told(Files):
        def remove(self, path):
            done.append(("remove", path.name))
            super().remove(path)

        def sync_folder(self, path):
            done.append(("sync", path.name))

        def remove_folder(self, path):
            done.append(("remove folder", path.name))
            assert path not in committed(tmp_path)
            super().remove_folder(path)

    saved(tmp_path, 1, 2)
    keep(tmp_path, 1, Told())
    name = "step-00000001"
    assert done == [("remove", MANIFEST), ("sync", name), ("remove folder", name)]
