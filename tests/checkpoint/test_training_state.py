"""A run that is resumed is the run that was not interrupted: bit by bit in one layout, and its state in all others."""

import random

import numpy as np
import pytest
import torch
from torch import nn

from reference.checkpoint import CheckpointError, TrainingState, read_manifest
from reference.checkpoint.placed import of_groups, of_parameters
from reference.data_parallel import replicate
from reference.data_parallel.replica import Replica
from reference.models import batch, digits, loss_sum
from reference.worlds import launch
from reference.zero.shards import by_rows, flat
from reference.zero.stage1 import Stage1
from reference.zero.stage2 import Stage2
from reference.zero.stage3 import Stage3
from reference.zero.state import full_state

STEPS = 4


class Model(nn.Module):
    """With a buffer, a frozen layer, a number, and dropout that draws from torch's default generator."""

    def __init__(self):
        super().__init__()
        torch.manual_seed(2)
        self.first, self.last = nn.Linear(64, 9), nn.Linear(9, 10)
        self.first.bias.requires_grad_(False)
        self.scale = nn.Parameter(torch.tensor(1.0))
        self.register_buffer("seen", torch.zeros(3))

    def forward(self, x):
        self.seen += 1
        return self.last(nn.functional.dropout(torch.tanh(self.first(x)), 0.2)) * self.scale


class Training:
    """Data parallelism with everything that has a state: Adam, a schedule, a loss scale, data drawn at random."""

    def __init__(self, comm):
        self.comm, self.model, self.losses = comm, Model(), []
        replicate.broadcast_parameters(comm, self.model)
        torch.manual_seed(10 + comm.rank)
        np.random.seed(20 + comm.rank)  # noqa: NPY002 - what programs do
        random.seed(30 + comm.rank)
        self.draw = torch.Generator().manual_seed(comm.rank)
        self.optimizer = torch.optim.AdamW((p for p in self.model.parameters() if p.requires_grad), 0.01)
        self.replica = Replica(comm, self.model)
        self.scheduler = torch.optim.lr_scheduler.MultiStepLR(self.optimizer, [2, 5, 5], 0.5)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=3)

    def step(self):
        data = digits()
        noise = 0.1 * np.random.standard_normal() + 0.1 * random.random()  # noqa: NPY002
        mine = torch.randint(len(data.y), (8,), generator=self.draw)
        loss, count = loss_sum(self.model, type(data)(data.x[mine] + noise, data.y[mine]))
        self.replica.backward(loss, count)
        self.scaler.scale(loss.detach())
        self.scaler.update(2 * self.scaler.get_scale())
        self.optimizer.step()
        self.optimizer.zero_grad()
        self.scheduler.step()
        self.losses.append(loss.item())

    def state(self, **without):
        made = {
            "buffers": dict(self.model.named_buffers()),
            "scheduler": self.scheduler,
            "scaler": self.scaler,
            "generators": {"data": self.draw},
        }
        return TrainingState(of_parameters(dict(self.model.named_parameters())), self.optimizer, **(made | without))

    def told(self):
        """All of the state, to be compared."""
        return (
            self.model.state_dict(),
            self.optimizer.state_dict(),
            self.scheduler.state_dict(),
            self.scaler.state_dict(),
        )


def uninterrupted(comm, folder):
    training = Training(comm)
    for _ in range(STEPS):
        training.step()
    training.state().save(comm, folder, STEPS, data={"step": STEPS})
    for _ in range(STEPS):
        training.step()
    return training.losses[STEPS:], training.told()


def resumed(comm, folder, **without):
    training = Training(comm)
    training.losses = [0.0] * STEPS
    loaded = training.state(**without).load(comm, folder)
    assert loaded.extra["data"] == {"step": STEPS}
    for _ in range(STEPS):
        training.step()
    return training.losses[STEPS:], training.told()


def same(a, b):
    if isinstance(a, torch.Tensor):
        return a.dtype == b.dtype and torch.equal(a, b)
    if isinstance(a, dict):
        return a.keys() == b.keys() and all(same(a[key], b[key]) for key in a) and type(a) is type(b)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and type(a) is type(b) and all(map(same, a, b))
    return a == b


@pytest.mark.parametrize("P", [1, 3])
def test_bit_by_bit(tmp_path, P):
    before = launch(uninterrupted, P, tmp_path).results
    assert same(before, launch(resumed, P, tmp_path).results)


@pytest.mark.mpi
def test_on_real_ranks_too(tmp_path):
    before = launch(uninterrupted, 2, tmp_path, world="mpi").results
    assert same(before, launch(resumed, 2, tmp_path, world="mpi").results)


PARTS = ["torch", "numpy", "python", "own", "scheduler", "scaler", "optimizer", "buffer"]


@pytest.mark.parametrize("part", PARTS)
def test_a_state_that_lacks_a_part_is_told_apart(tmp_path, part):
    """Each part counts: the test above fails if it is not restored."""
    before = launch(uninterrupted, 2, tmp_path).results

    def without(comm):
        training = Training(comm)
        training.losses = [0.0] * STEPS
        fresh, kept = Training(comm), training.state()
        kept.load(comm, tmp_path)
        if part == "torch":
            torch.manual_seed(10 + comm.rank)
        elif part == "numpy":
            np.random.seed(20 + comm.rank)  # noqa: NPY002
        elif part == "python":
            random.seed(30 + comm.rank)
        elif part == "own":
            training.draw.manual_seed(comm.rank)
        elif part == "buffer":
            training.model.seen.zero_()
        elif part == "optimizer":
            training.optimizer.state.clear()
        else:
            getattr(training, part).load_state_dict(getattr(fresh, part).state_dict())
        for _ in range(STEPS):
            training.step()
        return training.losses[STEPS:], training.told()

    assert not same(before, launch(without, 2).results)


# Other layouts --------------------------------------------------------------------------------------------------------


def adam(named):
    return torch.optim.Adam([{"params": [p for n, p in named if "bias" in n], "lr": 0.02}, {"params": [p for n, p in named if "bias" not in n]}], 0.01)  # fmt: skip  # noqa: E501


class Sharded:
    """A stage of ZeRO; serial is one rank of it."""

    def __init__(self, comm, Stage, cut):
        torch.manual_seed(1)
        self.comm = comm
        self.model = nn.Sequential(nn.Linear(64, 9), nn.Tanh(), nn.Linear(9, 10)).double()
        self.stage = Stage(comm, self.model, adam, cut=cut)
        placed = of_groups(self.stage.groups, dict(self.model.named_parameters()))
        self.state = TrainingState(placed, self.stage.optimizer, loaded=self.stage.update_weights)

    def train(self, first):
        for step in range(first, first + STEPS):
            self.stage.backward(*loss_sum(self.model, batch(DATA, 12, step, 0, self.comm.rank, self.comm.size)))
            self.stage.step()
        return full_state(self.stage)


DATA = digits()
DATA = type(DATA)(DATA.x.double(), DATA.y)


def save_it(comm, folder, Stage, cut):
    training = Sharded(comm, Stage, cut)
    state = training.train(0)
    training.state.save(comm, folder, STEPS)
    return state, training.train(STEPS)


def load_it(comm, folder, Stage, cut):
    training = Sharded(comm, Stage, cut)
    training.train(2)  # another state, to be loaded over
    training.state.load(comm, folder)
    return full_state(training.stage), training.train(STEPS)


CASES = [
    ((Stage1, flat, 3), (Stage2, by_rows, 2)),
    ((Stage3, by_rows, 2), (Stage1, flat, 5)),
    ((Stage2, flat, 4), (Stage3, flat, 3)),
]


@pytest.mark.parametrize("before, after", CASES)
def test_any_stage_of_zero_from_any_other(tmp_path, before, after):
    """The state that was loaded is the one that was saved, bit by bit; what follows is so up to rounding."""
    saved, later = launch(save_it, before[2], tmp_path, *before[:2]).results[0]
    for loaded, after_it in launch(load_it, after[2], tmp_path, *after[:2]).results:
        assert same(saved, loaded)
        for name, weight in later["module"].items():
            torch.testing.assert_close(after_it["module"][name], weight, rtol=1e-9, atol=1e-11)


def test_each_element_is_saved_once(tmp_path):
    """Weights and two moments of float64, and step counts: no copy of anything, however many ranks have it."""
    launch(save_it, 3, tmp_path, Stage1, flat)
    manifest = read_manifest(tmp_path / f"step-{STEPS:08}")
    elements = 64 * 9 + 9 + 9 * 10 + 10
    assert manifest.nbytes - sum(file.head for file in manifest.files.values()) == 3 * 8 * elements + 4 * 4


def test_another_optimizer_is_refused(tmp_path):
    launch(save_it, 2, tmp_path, Stage1, flat)

    def program(comm):
        model = nn.Sequential(nn.Linear(64, 9), nn.Tanh(), nn.Linear(9, 10)).double()
        named = dict(model.named_parameters())
        state = TrainingState(of_parameters(named), torch.optim.Adam(model.parameters()))
        said = []
        for more in ({}, {"optimizer": adam(list(named.items())), "scaler": torch.amp.GradScaler("cpu")}):
            state = TrainingState(of_parameters(named), more.pop("optimizer", state.optimizer), **more)
            with pytest.raises(CheckpointError) as caught:
                state.load(comm, tmp_path)
            said.append(str(caught.value))
        return said

    groups, scaler = launch(program, 1).results[0]
    assert "the optimizer has 1 groups of parameters, and 2 were saved" in groups
    assert "there is a scaler, unlike when it was saved" in scaler


def test_what_cannot_be_told_is_refused():
    weight = nn.Parameter(torch.zeros(2))
    optimizer = torch.optim.SGD([weight], 0.1)
    optimizer.state[weight] = {"kind": "text", "none": None}
    state = TrainingState(of_parameters({"w": weight}), optimizer)
    with pytest.raises(ValueError, match="what the optimizer keeps of w as kind is no tensor: str"):
        state.portions()
    optimizer.param_groups[0]["hook"] = print
    with pytest.raises(ValueError, match="cannot be told in JSON"):
        state.extra()
