"""Loading: each layout from each other, at other numbers of ranks, to the last bit; only the bytes that are needed."""

from itertools import product

import pytest
import torch

from reference.checkpoint import CheckpointError, at, everything, flat_range, load, read_manifest, save
from reference.checkpoint.files import Files
from reference.checkpoint.load import at_step
from reference.checkpoint.manifest import CHUNK
from reference.worlds import RankFailed, launch

from .states import LAYOUTS, portions, right


def saving(comm, folder, layout, step=0):
    return save(comm, folder, step, portions(layout, comm.rank, comm.size, step), {"rate": 0.1}, comm.rank)


def loading(comm, folder, layout, step=None):
    mine = portions(layout, comm.rank, comm.size, empty=True)
    loaded = load(comm, folder, mine, step)
    return right(mine, loaded.step), loaded


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A folder for each layout, saved by 4 ranks."""
    folders = {layout: tmp_path_factory.mktemp(layout) for layout in LAYOUTS}
    for layout, folder in folders.items():
        launch(saving, 4, folder, layout)
    return folders


@pytest.mark.parametrize("before, after", list(product(LAYOUTS, LAYOUTS)))
def test_any_layout_from_any_other(saved, before, after):
    for P in (3, 5) if before == after else (3,):
        for ok, loaded in launch(loading, P, saved[before], after).results:
            assert ok and loaded.step == 0 and loaded.extra == {"rate": 0.1} and loaded.own == [0, 1, 2, 3]


@pytest.mark.mpi
@pytest.mark.parametrize("before, after", [("flat", "columns"), ("replicated", "strided")])
def test_on_real_ranks_too(tmp_path, before, after):
    launch(saving, 4, tmp_path, before, world="mpi")
    assert all(ok for ok, _ in launch(loading, 3, tmp_path, after, world="mpi").results)


def test_a_rank_reads_what_it_needs_and_the_chunks_around(tmp_path):
    n = 10 * CHUNK // 4  # elements of float32, in chunks of a quarter million

    def save_it(comm):
        save(comm, tmp_path, 1, {"w": everything(torch.arange(n, dtype=torch.float32))})

    def load_it(comm, first, after):
        found = torch.zeros(after - first)
        read = load(comm, tmp_path, {"w": flat_range(found, (n,), first)}).nbytes
        return torch.equal(found, torch.arange(first, after, dtype=torch.float32)), read // CHUNK

    launch(save_it, 1)
    chunk = CHUNK // 4
    found = {
        (0, chunk): 1,
        (0, n): 10,
        (5, 6): 1,
        (n - 3, n): 1,
        (chunk, 3 * chunk): 2,
        (9, n - 9): 10,
        (chunk - 1, chunk + 1): 2,
    }
    for (first, after), count in found.items():
        assert launch(load_it, 1, first, after).results == [(True, count)]


class Noting(Files):
    """Real files, and the names of the shards in the order in which they are opened to be read."""

    def __init__(self):
        self.opened = []

    def reading(self, path):
        if path.suffix == ".safetensors" and path.name not in self.opened:
            self.opened.append(path.name)
        return super().reading(path)


def test_a_rank_begins_with_the_file_of_which_it_wants_the_most(tmp_path):
    """What it wants of another's is in the kernel's cache by then."""
    whole = torch.arange(12.0 * 5).view(12, 5)

    def save_it(comm):
        save(comm, tmp_path, 1, {"w": at(whole[3 * comm.rank : 3 * comm.rank + 3], (12, 5), (3 * comm.rank, 0))})

    def load_it(comm):
        found, files = torch.zeros(4, 5), Noting()
        load(comm, tmp_path, {"w": at(found, (12, 5), (4 * comm.rank, 0))}, files=files)
        assert torch.equal(found, whole[4 * comm.rank : 4 * comm.rank + 4])
        return files.opened

    launch(save_it, 4)
    opened = launch(load_it, 3).results
    first, second, third, fourth = sorted({name for names in opened for name in names})
    assert opened == [[first, second], [second, third], [fourth, third]]


def test_a_part_of_the_state_can_be_loaded_and_the_newest_is_taken(tmp_path):
    for step in (3, 12, 7):
        launch(saving, 2, tmp_path, "rows", step)
    assert at_step(tmp_path) == 12
    assert [loaded.step for _, loaded in launch(loading, 2, tmp_path, "flat").results] == [12, 12]
    assert [loaded.step for _, loaded in launch(loading, 2, tmp_path, "flat", 7).results] == [7, 7]

    def one(comm):
        b = torch.zeros(2, dtype=torch.bfloat16)
        load(comm, tmp_path, {"b": at(b, (6,), (3,))})
        return b.tolist()

    assert launch(one, 1).results == [[1200, 1200]]  # bfloat16 has 8 bits: 1203 is 1200


REFUSED = {
    "has no v: was it saved by another model": {"v": everything(torch.zeros(2))},
    r"w is \[8, 7\] of torch.float32, and in .*step-00000000 \[8, 6\] of F32": {"w": everything(torch.zeros(8, 7))},
    r"w is \[8, 6\] of torch.float64": {"w": everything(torch.zeros(8, 6, dtype=torch.float64))},
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_was_not_saved_is_refused(saved, words):
    with pytest.raises(RankFailed, match=words):
        launch(lambda comm: load(comm, saved["rows"], REFUSED[words] if comm.rank else {}), 2)


def test_elements_that_are_in_no_file_are_refused(tmp_path):
    """As in a manifest that another program has made; `save` refuses to write one."""
    path = launch(saving, 2, tmp_path, "rows").results[0]
    manifest = read_manifest(path)
    w = manifest.tensors["w"]
    lacking = manifest._replace(tensors=manifest.tensors | {"w": w._replace(parts=w.parts[:1])})
    (path / "manifest.json").write_text(lacking.to_json())
    with pytest.raises(RankFailed, match=r"\[4:8, 0:6\] of a part of w is in no file of"):
        launch(loading, 1, tmp_path, "rows")


def test_every_rank_hears_of_it(saved):
    def program(comm):
        try:
            load(comm, saved["rows"], {"v": everything(torch.zeros(2))} if comm.rank else {})
        except CheckpointError as error:
            return str(error)

    first, second = launch(program, 2).results
    assert first == second and "has no v" in first and "[rank 1]" in first


def test_no_checkpoint_at_all(tmp_path):
    with pytest.raises(RankFailed, match="there is no checkpoint in"):
        launch(loading, 2, tmp_path / "nothing", "rows")
    launch(saving, 1, tmp_path, "rows", 2)
    with pytest.raises(RankFailed, match="there is no checkpoint of step 3 in"):
        launch(loading, 2, tmp_path, "rows", 3)
    assert at_step(tmp_path / "nothing") is None
