"""Saving: who writes what, what is refused, and that a rank that cannot write leaves what was there."""

import errno
import re

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.checkpoint import CheckpointError, Portion, Saving, at, committed, everything, load, read_manifest, save
from reference.checkpoint.boxes import Box
from reference.checkpoint.files import Files
from reference.checkpoint.save import dealt_out
from reference.worlds import RankFailed, launch

from .states import portions, right


@given(st.lists(st.sets(st.integers(0, 9), min_size=1), min_size=1, max_size=6))
def test_each_box_is_written_once_by_a_rank_that_holds_it(held):
    """held: of each rank, which of ten boxes of different sizes it has."""
    boxes = [Box((0, k), (k + 1, 1)) for k in range(10)]
    every = [{"w": ((10, 10), "F32", [boxes[k] for k in sorted(own)])} for own in held]
    written = [box for files in dealt_out(every) for one in files for _, box in one.values()]
    assert sorted(written) == sorted({boxes[k] for own in held for k in own})
    for own, files in zip(held, dealt_out(every)):
        assert {box for one in files for _, box in one.values()} <= {boxes[k] for k in own}


def test_copies_are_dealt_out_evenly():
    every = [{f"w{k}": ((4, 4), "F32", [Box((0, 0), (4, 4))]) for k in range(12)}] * 4
    assert [len(files[0]) for files in dealt_out(every)] == [3, 3, 3, 3]


def test_no_tensor_is_sent(tmp_path):
    """64 KiB a rank are saved, and names and numbers travel."""

    def program(comm):
        save(comm, tmp_path, 1, {"w": at(torch.zeros(16384), (16384 * comm.size,), (16384 * comm.rank,))})

    assert max(launch(program, 4).bytes_sent) < 8000


def test_a_step_that_is_saved_again_gets_a_folder_of_its_own(tmp_path):
    def program(comm, value):
        return save(comm, tmp_path, 3, {"w": everything(torch.full((2,), value))}).name

    def loaded(comm):
        load(comm, tmp_path, {"w": everything(w := torch.zeros(2))})
        return w.tolist()

    assert launch(program, 2, 1.0).results[0] == "step-00000003"
    assert launch(program, 2, 2.0).results[0] == "step-00000003.1"
    (tmp_path / "step-00000003.2").mkdir()
    (tmp_path / "step-00000003.2/rank00007.safetensors").write_text("left over")
    assert launch(program, 2, 5.0).results[0] == "step-00000003.2"
    assert launch(loaded, 1).results == [[5.0, 5.0]]
    assert not (tmp_path / "step-00000003.2/rank00007.safetensors").exists()


WRONG = {
    r"no rank holds \[4:8, 0:6\] of w": lambda comm: {"w": at(torch.zeros(4, 6), (8, 6), (0, 0))},
    r"w has \[2\] of F64 on rank 1, and \[2\] of F32 before": lambda comm: {
        "w": everything(torch.zeros(2, dtype=torch.float64 if comm.rank else torch.float32))
    },
    r"\[2\] of w are not \[1:3\] of \[2\]": lambda comm: {"w": at(torch.zeros(2), (2,), (1,))},
    "one type that safetensors knows": lambda comm: {"w": everything(torch.zeros(2, dtype=torch.complex128))},
    r"\[3\] of w are not \[0:2\]": lambda comm: {"w": Portion((2,), [(Box((0,), (2,)), torch.zeros(3))])},
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_state_is_refused_on_every_rank(tmp_path, words):
    def program(comm):
        try:
            save(comm, tmp_path, 1, WRONG[words](comm))
        except ValueError as error:
            return str(error)

    found = launch(program, 2).results
    assert found[0] == found[1] and re.search(words, found[0]) and not committed(tmp_path)


class Failing(Files):
    """Files of a drive that takes no more: the n-th file that is written fails in the middle."""

    def __init__(self, n, error=errno.ENOSPC):
        self.n, self.error = n, error

    def write(self, path, pieces, sync=True):
        self.n -= 1
        if self.n:
            return super().write(path, pieces, sync)
        super().write(path, list(pieces)[:1], sync)
        raise OSError(self.error, "No space left on device")


def failing(comm, folder, who, n):
    """What is said if rank `who` fails; then the state before is loaded."""
    save(comm, folder, 1, portions("rows", comm.rank, comm.size, 1))
    said = ""
    try:
        save(comm, folder, 2, portions("rows", comm.rank, comm.size, 2), files=Failing(n if comm.rank == who else 99))
    except CheckpointError as error:
        said = str(error)
    mine = portions("flat", comm.rank, comm.size, empty=True)
    return said, load(comm, folder, mine).step, right(mine, 1), sorted(p.name for p in folder.iterdir())


@pytest.mark.parametrize("who, n, file", [(0, 1, "rank00000"), (2, 1, "rank00002"), (0, 2, "manifest")])
def test_a_full_drive_is_told_on_all_ranks_and_the_state_before_is_whole(tmp_path, who, n, file):
    for said, step, ok, there in launch(failing, 3, tmp_path, who, n).results:
        assert f"step-00000002/{file}" in said and "No space left on device" in said and "are free: delete" in said
        assert "The checkpoint step-00000001 is whole" in said
        assert (step, ok, there) == (1, True, ["step-00000001"])


def test_what_json_cannot_tell_is_refused(tmp_path):
    with pytest.raises(RankFailed, match="has to be told in JSON"):
        launch(lambda comm: save(comm, tmp_path, 1, portions("rows", comm.rank, comm.size), {"a": {1}}), 2)
    assert not committed(tmp_path)


def test_its_three_parts_by_themselves(tmp_path):
    """What is written is what the portions held when `write` was called, and nothing counts before `commit`."""

    def program(comm):
        w = torch.zeros(2)
        saving = Saving(comm, tmp_path, 4, {"w": everything(w)})
        w += 1
        saving.write()
        w += 1
        before = committed(tmp_path)
        comm.Barrier()
        path = saving.commit()
        load(comm, tmp_path, {"w": everything(w)})
        return before, path == committed(tmp_path)[0], w.tolist(), saving.nbytes

    assert launch(program, 2).results == [([], True, [1.0, 1.0], 8), ([], True, [1.0, 1.0], 0)]


def test_the_manifest_tells_what_is_there(tmp_path):
    launch(lambda comm: save(comm, tmp_path, 1, portions("strided", comm.rank, comm.size)), 2)
    manifest = read_manifest(tmp_path / "step-00000001")
    names = [f"rank0000{rank}{k}.safetensors" for rank in (0, 1) for k in ("", "-1", "-2", "-3")]
    assert set(manifest.files) <= set(names) and len(manifest.files) >= 7
    for name, about in manifest.files.items():
        assert (tmp_path / "step-00000001" / name).stat().st_size == about.nbytes
