"""Errata of chapter 13 that are about what is saved, and how."""

import io
import zipfile

import pytest
import torch
from torch import nn

from reference.checkpoint import TrainingState
from reference.checkpoint.placed import of_groups
from reference.models import MLP, batch, digits, loss_sum
from reference.worlds import launch
from reference.zero.stage1 import Stage1


def test_e1_30_twelve_bytes_a_parameter_and_no_activations():
    """Weights of 16 bits, Adam: a master copy and two moments of 32 bits, each on one rank; and step counts."""

    def program(comm):
        model = MLP((64, 16, 10)).to(torch.bfloat16)
        stage = Stage1(comm, model, lambda named: torch.optim.Adam(named, 0.01))
        state = TrainingState(of_groups(stage.groups, dict(model.named_parameters())), stage.optimizer)
        mine = batch(digits(), 8, 0, 0, comm.rank, comm.size)
        stage.backward(*loss_sum(model, mine._replace(x=mine.x.to(torch.bfloat16))))
        stage.step()
        held = [(name, values) for name, of in state.portions().items() for _, values in of.parts]
        return sum(values.nbytes for name, values in held if not name.endswith(".step"))

    parameters = sum(p.numel() for p in MLP((64, 16, 10)).parameters())
    assert sum(launch(program, 3).results) == 12 * parameters


class Net(nn.Module):
    """Something that has a name."""

    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 2)


def test_e3_38_a_pickled_model_is_names_of_code_and_has_no_context(monkeypatch):
    torch.save(nn.DataParallel(Net()), file := io.BytesIO())
    archive = zipfile.ZipFile(file)
    (pickled,) = (archive.read(name) for name in archive.namelist() if name.endswith("data.pkl"))
    assert b"test_errata" in pickled and b"DataParallel" in pickled and b"cpu" in pickled
    assert b"cuda" not in pickled.lower().replace(b"is_cuda", b"")
    monkeypatch.delattr(f"{__name__}.Net")  # it was renamed
    file.seek(0)
    with pytest.raises(AttributeError, match="Net"):
        torch.load(file, weights_only=False)
