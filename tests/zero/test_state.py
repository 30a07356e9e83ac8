"""State: as one device has it, or in shards; loaded by other ranks, with another cut, in another stage; and refused."""

import pytest
import torch
from torch import nn

from reference.models import batch, gradients, loss_sum
from reference.worlds import RankFailed, launch
from reference.zero.shards import by_rows, flat
from reference.zero.stage1 import Stage1
from reference.zero.stage2 import Stage2
from reference.zero.stage3 import Stage3
from reference.zero.state import full_state, load_full_state, load_sharded_state, sharded_state

from .training import MODELS, OPTIMIZERS, my_batch

STEPS = 3


class Model(nn.Module):
    """The MLP, with a frozen layer, a buffer, a name for what has one already, and a single number."""

    def __init__(self):
        super().__init__()
        self.mlp = MODELS["mlp"][0]()
        self.mlp[4].weight.requires_grad_(False)
        self.again, self.number = self.mlp[0].bias, nn.Parameter(torch.tensor(1.0, dtype=torch.float64))
        self.register_buffer("seen", torch.tensor(0))

    def forward(self, x):
        if self.training:
            self.seen += 1
        return self.mlp(x) * self.number


def trained(module):
    return [(name, parameter) for name, parameter in module.named_parameters() if parameter.requires_grad]


def make(comm, Stage, cut, optimizer):
    module = Model()
    options = {} if Stage is Stage3 else {"bucket_bytes": 1500, "first_bucket_bytes": 500}
    return module, Stage(comm, module, OPTIMIZERS[optimizer], cut=cut, **options)


def train(comm, module, stage, first):
    for step in range(first, first + STEPS):
        stage.backward(*loss_sum(module, my_batch("mlp", comm, step)))
        stage.step()


def saved(comm, Stage, cut, optimizer):
    """Both forms of the state after some steps."""
    module, stage = make(comm, Stage, cut, optimizer)
    train(comm, module, stage, 0)
    return sharded_state(stage), full_state(stage)


def resumed(comm, Stage, cut, optimizer, shards, full):
    """The whole state after some steps more, from either form; each is loaded over another training's."""
    found = []
    for load, state in ((load_sharded_state, shards), (load_full_state, full)):
        module, stage = make(comm, Stage, cut, optimizer)
        train(comm, module, stage, 1)
        load(stage, state)
        train(comm, module, stage, STEPS)
        found.append(full_state(stage))
    return found


def serial(optimizer, steps):
    module = Model()
    made = OPTIMIZERS[optimizer](trained(module))
    for step in range(steps):
        gradients(module, batch(MODELS["mlp"][1], 13, step))
        made.step()
    return module, made


def same(found, module, optimizer):
    """Whether a full state is that of the serial program, up to rounding."""
    theirs = optimizer.state_dict()["state"]
    assert list(found["module"]) == list(module.state_dict()) and set(found["optimizer"]["state"]) == set(theirs)
    for name, value in module.state_dict().items():
        torch.testing.assert_close(found["module"][name], value, rtol=1e-9, atol=1e-11)
    for number, kept in found["optimizer"]["state"].items():
        assert set(kept) == set(theirs[number])
        for key, value in kept.items():
            torch.testing.assert_close(value, theirs[number][key], rtol=1e-9, atol=1e-11)
    return True


CASES = [  # from, to: stage, cut, ranks
    ("momentum", (Stage1, flat, 3), (Stage2, by_rows, 2)),
    ("adam", (Stage2, by_rows, 5), (Stage1, flat, 8)),
    ("adam", (Stage1, flat, 2), (Stage3, by_rows, 3)),
    ("momentum", (Stage3, flat, 2), (Stage1, flat, 1)),
]


@pytest.mark.parametrize("optimizer, before, after", CASES)
def test_a_training_goes_on_elsewhere(optimizer, before, after):
    """At another number of ranks, with the other cut, in another stage."""
    parts = launch(saved, before[2], *before[:2], optimizer).results
    shards, full = [sharded for sharded, _ in parts], parts[0][1]
    assert all(same(each, *serial(optimizer, STEPS)) for _, each in parts)
    for found in launch(resumed, after[2], *after[:2], optimizer, shards, full).results:
        assert all(same(each, *serial(optimizer, 2 * STEPS)) for each in found)


def test_shards_hold_each_element_once_and_send_nothing():
    def program(comm):
        module, stage = make(comm, Stage1, flat, "adam")
        train(comm, module, stage, 0)
        return sharded_state(stage)

    shards = launch(program, 3).results
    for name, parameter in Model().named_parameters():
        if parameter.requires_grad:
            held = [one["parameters"][name] for one in shards]
            assert sum(one["weight"].numel() for one in held) == parameter.numel()
            assert all(one["optimizer"]["exp_avg"].shape == one["weight"].shape for one in held)


def test_one_device_goes_on_with_a_full_state():
    full = launch(saved, 3, Stage2, flat, "adam").results[0][1]
    module, (expected, theirs) = Model(), serial("adam", 2 * STEPS)
    optimizer = OPTIMIZERS["adam"](trained(module))
    module.load_state_dict(full["module"])
    optimizer.load_state_dict(full["optimizer"])
    for step in range(STEPS, 2 * STEPS):
        gradients(module, batch(MODELS["mlp"][1], 13, step))
        optimizer.step()
    assert same({"module": module.state_dict(), "optimizer": optimizer.state_dict()}, expected, theirs)


def test_a_state_of_one_device_is_taken_over():
    module, optimizer = serial("adam", STEPS)
    full = {"module": module.state_dict(), "optimizer": optimizer.state_dict()}

    def program(comm):
        module, stage = make(comm, Stage1, by_rows, "adam")
        load_full_state(stage, full)
        train(comm, module, stage, STEPS)
        return full_state(stage)

    assert all(same(found, *serial("adam", 2 * STEPS)) for found in launch(program, 2).results)


def test_a_master_copy_is_saved_with_all_its_bits():
    def program(comm):
        stage = Stage1(comm, nn.Linear(2, 2, bias=False).bfloat16().requires_grad_(), OPTIMIZERS["momentum"])
        stage.groups[0].master += 2.0**-20
        return full_state(stage)["module"]["weight"], stage.groups[0].parameters[0].clone()

    (whole, short), *_ = launch(program, 1).results
    assert whole.dtype == torch.float32 and torch.equal(whole, short.float() + 2.0**-20)


def wrong(change):
    full = launch(saved, 2, Stage1, flat, "adam").results
    shards = change([sharded for sharded, _ in full])
    with pytest.raises(RankFailed) as told:
        launch(lambda comm: load_sharded_state(make(comm, Stage1, flat, "adam")[1], shards), 2)
    assert {type(error) for error in told.value.errors.values()} == {ValueError} and len(told.value.errors) == 2
    return str(told.value.errors[0])


def test_what_does_not_fit_is_refused_on_every_rank():
    def drop(name):
        return lambda shards: [
            one | {"parameters": {k: v for k, v in one["parameters"].items() if k != name}} for one in shards
        ]

    def reshape(shards):
        for one in shards:
            one["parameters"]["mlp.2.bias"]["shape"] = (17,)
        return shards

    assert wrong(drop("number")) == "number is not among what was saved"
    assert "mlp.2.bias has the shape (13,) and was saved with (17,)" in wrong(reshape)
    assert "are in none of 1 shards: give the dictionaries of all ranks" in wrong(lambda shards: shards[1:])
    assert "there is no state to load" in wrong(lambda shards: [])
    assert "mlp.4.weight is not among what" in wrong(lambda shards: [one | {"whole": {}} for one in shards])
    assert "groups of parameters are not those" in wrong(lambda shards: [one | {"options": []} for one in shards])
