"""Incremental saves: every step comes back to the bit, whatever was shared and deleted; and what is true of Adam."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.checkpoint import CheckpointError
from reference.checkpoint.incremental import BlockStore, ThresholdDelta, blocks, changed_share
from reference.checkpoint.object_store import ObjectStore
from reference.models import MLP

from ..examples import examples


def equal(found, want):
    return found.keys() == want.keys() and all(
        torch.equal(found[name], want[name]) and found[name].dtype == want[name].dtype for name in want
    )


@examples(20)
@given(st.lists(st.tuples(st.integers(0, 39), st.integers(0, 3)), min_size=1, max_size=8), st.data())
def test_every_kept_step_comes_back_whatever_changed_and_was_deleted(changes, data):
    """One element changes a step, or back again; after each step some older ones are forgotten."""
    store, state, history = BlockStore("run", 16, ObjectStore()), torch.zeros(40), {}
    for step, (place, value) in enumerate(changes):
        state[place] = value
        tensors = {"w": state, "short": state[:3].double(), "none": state[:0], "one": state[0]}
        history[step] = {name: tensor.clone() for name, tensor in tensors.items()}
        store.save(step, tensors)
        if data.draw(st.booleans()):
            kept = set(data.draw(st.lists(st.sampled_from(sorted(history))))) | {step}
            store.keep(sorted(kept))
            history = {number: history[number] for number in kept}
        store = BlockStore("run", 16, store.files)  # another process, which has only the files
        assert store.steps() == sorted(history)
        assert all(equal(store.load(number), want) for number, want in history.items())


def test_a_save_writes_what_is_new_and_nothing_twice(tmp_path):
    store = BlockStore(tmp_path, 400)  # 100 elements
    w = torch.arange(1000.0)
    assert store.save(1, {"w": w, "copy": w.clone()}) == (8000, 20, 4000, 10)  # two tensors, the same blocks
    assert store.save(2, {"w": w}) == (4000, 10, 0, 0)
    w[250] = -1
    assert store.save(3, {"w": w}) == (4000, 10, 400, 1)
    w[250] = 250
    assert store.save(4, {"w": w}) == (4000, 10, 0, 0)  # as in step 1 again
    with pytest.raises(ValueError, match="step 4 is saved already"):
        store.save(4, {"w": w})


def test_a_pack_goes_when_nobody_refers_to_it_and_not_before(tmp_path):
    """The mistake: step 1 is old, so delete its pack. All later steps are in it."""
    store = BlockStore(tmp_path, 400)
    w = torch.arange(1000.0)
    store.save(1, {"w": w})
    w[0] = 7
    store.save(2, {"w": w})
    assert store.keep([2]) == 0 and equal(store.load(2), {"w": w})
    w += 1
    store.save(3, {"w": w})
    assert store.keep([3]) == 4400 and equal(store.load(3), {"w": w})
    assert store.steps() == [3]
    (tmp_path / "pack-00000003").unlink()
    with pytest.raises(CheckpointError, match="pack-00000003 cannot be read"):
        store.load(3)


def test_a_flipped_bit_and_a_save_that_was_cut_off(tmp_path):
    store = BlockStore(tmp_path, 400)
    w = torch.arange(1000.0)
    store.save(1, {"w": w})
    (tmp_path / "pack-00000002.partial").write_bytes(b"half")  # the crash
    (tmp_path / "pack-00000002").write_bytes(b"no manifest")
    again = BlockStore(tmp_path, 400)
    assert again.steps() == [1] and equal(again.load(1), {"w": w})
    assert again.keep([1]) == len(b"half") + len(b"no manifest")
    damaged = bytearray((tmp_path / "pack-00000001").read_bytes())
    damaged[450] ^= 4
    (tmp_path / "pack-00000001").write_bytes(damaged)
    with pytest.raises(CheckpointError, match="bytes 400 to 800 are not what was saved"):
        again.load(1)


def test_a_save_that_failed_has_saved_nothing():
    """Its blocks are in no pack, so the next save writes them again."""

    class Full(ObjectStore):
        full = True

        def write(self, path, pieces, sync=True):
            if self.full:
                raise OSError(28, "No space left on device")
            super().write(path, pieces, sync)

    store, w = BlockStore("run", 400, Full()), torch.arange(1000.0)
    with pytest.raises(OSError, match="No space"):
        store.save(1, {"w": w})
    store.files.full = False
    assert store.steps() == [] and store.save(2, {"w": w}).new_blocks == 10
    assert equal(store.load(2), {"w": w})


def test_blocks_of_any_type():
    for dtype in (torch.float32, torch.bfloat16, torch.int64, torch.bool):
        tensor = torch.arange(10).to(dtype)
        assert b"".join(blocks(tensor, 7)) == bytes(tensor.view(torch.uint8).tolist())
    assert blocks(torch.empty(0), 7) == []


# What changes in a step ----------------------------------------------------------------------------------------------


def steps_of(make, parameters, loss, count):
    """Train, and yield (all parameters flat, first moments, second moments) after each step."""
    optimizer = make(parameters)
    for step in range(count):
        optimizer.zero_grad()
        loss(step).backward()
        optimizer.step()
        yield tuple(
            torch.cat([of(p).detach().flatten().clone() for p in parameters])
            for of in (
                lambda p: p,
                lambda p: optimizer.state[p]["exp_avg"],
                lambda p: optimizer.state[p]["exp_avg_sq"],
            )
        )


def adam(parameters):
    return torch.optim.Adam(parameters, lr=1e-3)


def test_adam_changes_nearly_everything_in_a_step_and_a_table_only_its_rows():
    """Where there has been a gradient: inputs that are 0 in all samples, and dead units, have weights at rest."""
    generator, model = torch.Generator().manual_seed(0), MLP((64, 30, 10))
    x, y = torch.randn(640, 64, generator=generator), torch.arange(640) % 10
    x[:, :3] = 0

    def loss(step):
        part = slice(64 * (step % 10), 64 * (step % 10) + 64)
        return torch.nn.functional.cross_entropy(model(x[part]), y[part])

    *_, before, after = steps_of(adam, list(model.parameters()), loss, 20)
    alive = before[2] > 0
    w, m, v = (changed_share(a[alive], b[alive]) for a, b in zip(before, after))
    assert alive.double().mean() > 0.8 and w > 0.999 and m > 0.999 and v > 0.999
    table = torch.nn.Embedding(10_000, 8, sparse=True)
    optimizer = torch.optim.SparseAdam(table.parameters(), lr=1e-3)
    rows = torch.arange(0, 10_000, 37)
    old = table.weight.detach().clone()
    table(rows).square().sum().backward()
    optimizer.step()
    assert changed_share(old, table.weight) == pytest.approx(len(rows) / 10_000, abs=1e-3)


def test_small_steps_against_the_value_before_are_never_saved_and_add_up():
    """1,000 steps of 0.9 eps: the state has moved by 900 eps, and the saved copy by none."""
    eps, state = 1.0, torch.zeros(5, dtype=torch.float64)
    right, wrong = ThresholdDelta(state, eps), torch.zeros(5, dtype=torch.float64)
    worst = 0.0
    for _ in range(1000):
        before = state.clone()
        state += 0.9 * eps
        moved = (state - before).abs() > eps
        wrong[moved] = state[moved]
        right.save(state)
        worst = max(worst, (right.image - state).abs().max().item())
    assert worst <= eps and (state - wrong).abs().max() == pytest.approx(900 * eps)


def test_an_alias_in_place_of_a_copy_finds_nothing_to_save():
    state = torch.zeros(5)
    alias = state  # prev_state = model.state_dict(), which has the parameters themselves
    delta = ThresholdDelta(state, 0.0)
    state += 1
    assert torch.equal(alias, state)  # "nothing has changed"
    indices, values = delta.save(state)
    assert indices.tolist() == [0, 1, 2, 3, 4] and values.tolist() == [1] * 5
    image = torch.zeros(5)
    ThresholdDelta.apply(image, indices, values)
    assert torch.equal(image, state)


@given(st.integers(0, 5), st.floats(0.01, 2))
def test_the_image_is_within_eps_after_every_save(seed, eps):
    generator = torch.Generator().manual_seed(seed)
    state, saved = torch.zeros(3, 4), torch.zeros(3, 4)
    delta = ThresholdDelta(state, eps)
    for _ in range(20):
        state += torch.randn(3, 4, generator=generator)
        ThresholdDelta.apply(saved, *delta.save(state))
        assert torch.equal(saved, delta.image) and (saved - state).abs().max() <= eps
