"""Crashes at every instant of a run: what is promised is there; and each mistake loses it somewhere."""

import re

import pytest
import torch

from reference.checkpoint import CheckpointError, at, committed, keep, lossy_files, read_manifest, save
from reference.checkpoint.load import fill
from reference.checkpoint.lossy_files import RecordedFiles, crashes
from reference.checkpoint.mistakes import MISTAKES, ManifestFirst, NoFileSync, NoFolderSync, ShardsDeletedFirst
from reference.worlds import launch


def record(folder, kind=RecordedFiles, ranks=2):
    """The journal of a run that saves steps 1 and 2, and keeps one."""

    def program(comm):
        files = kind(folder, folder / "journal")
        for step in (1, 2):
            w = torch.full((3,), float(step))
            save(comm, folder / "run", step, {"w": at(w, (3 * comm.size,), (3 * comm.rank,))}, files=files)
            if comm.rank == 0:
                files.mark(str(step))
                keep(folder / "run", 1, files)
            comm.Barrier()

    launch(program, ranks)
    return folder / "journal"


def make(folder):
    folder.mkdir()
    return folder


def after(crash):
    """What a program finds: the step of the newest checkpoint, 0 without one; or the error that a checkpoint gives."""
    there = committed("run", crash.drive)
    try:
        for path in there:
            w, manifest = torch.zeros(6), read_manifest(path, crash.drive)
            fill(path, manifest, {"w": at(w, (6,), (0,))}, crash.drive)
            assert w.eq(manifest.step).all()
        return manifest.step if there else 0
    except CheckpointError as error:
        return str(error)


def broken(journal):
    """What is found where it is neither what was promised nor the step under way; and how many crashes there are."""
    found = [(after(crash), int((crash.promised or [0])[-1])) for crash in crashes(journal)]
    return [there for there, last in found if there not in (last, last + 1)], len(found)


def test_what_is_promised_is_there_after_every_crash(tmp_path):
    found, count = broken(record(tmp_path))
    assert not found and count > 80


def test_of_a_right_save_every_combination_is_tried(tmp_path, monkeypatch):
    """They are few, for little is not flushed at any time."""
    journal = record(tmp_path)
    every = [(crash.after, crash.files) for crash in crashes(journal)]
    monkeypatch.setattr(lossy_files, "MOST", 10**9)
    assert [(crash.after, crash.files) for crash in crashes(journal)] == every


WORST = {  # the class, and what is found after one of the crashes
    "NoFileSync": "manifest.json is not the manifest",
    "NoShardSync": "is damaged: bytes|was cut off",
    "NoFolderSync": "^0$",
    "ManifestInPlace": "manifest.json is not the manifest",
    "ManifestFirst": "is missing",
    "ShardsDeletedFirst": "is missing",
}


@pytest.mark.parametrize("kind", MISTAKES)
def test_each_mistake_loses_something(tmp_path, kind):
    found, _ = broken(record(tmp_path, kind))
    assert any(re.search(WORST[kind.__name__], str(there)) for there in found), found


def test_a_crash_loses_what_was_not_flushed_and_nothing_else(tmp_path):
    files = RecordedFiles(tmp_path, tmp_path / "journal")
    files.make_folder(tmp_path / "a")
    files.write(tmp_path / "a/old", [b"1234"])
    files.sync_folder(tmp_path / "a")
    files.mark("old")
    files.write(tmp_path / "a/old2", [b"5678"], sync=False)
    files.rename(tmp_path / "a/old2", tmp_path / "a/old")
    last = [crash for crash in crashes(tmp_path / "journal") if crash.after == 10]
    assert all(crash.promised == ["old"] for crash in last)
    ways = {tuple(sorted((name, of) for name, of in crash.files.items() if of is not None)) for crash in last}
    for content in (b"5678", b"56", b"", bytes(4)):
        assert (("a/old", content),) in ways  # the rename is on the drive
        assert (("a/old", b"1234"), ("a/old2", content)) in ways  # the new name is, the rename is not
    assert (("a/old", b"1234"),) in ways and len(ways) == 9


def test_a_crash_says_what_it_lost(tmp_path):
    words = {word for crash in crashes(record(tmp_path, NoFolderSync, 1)) for word in crash.lost}
    assert "the rename to run/step-00000001/manifest.json" in words and "the name run/step-00000001" in words
    words = {word for crash in crashes(record(make(tmp_path / "b"), NoFileSync, 1)) for word in crash.lost}
    assert any(word.startswith("half the bytes of a file of") for word in words)


def test_mistakes_that_nobody_sees_without_a_crash(tmp_path):
    """The files in the end are those of a right save."""
    for kind in (RecordedFiles, NoFileSync, ManifestFirst, ShardsDeletedFirst):
        folder = make(tmp_path / kind.__name__)
        record(folder, kind)
        assert sorted(p.name for p in (folder / "run").iterdir()) == ["step-00000002"]
