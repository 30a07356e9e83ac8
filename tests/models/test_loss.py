"""The loss as sum and count: what counts, what an empty batch gives, and that means leave no trace in the model."""

import pytest
import torch
from torch import nn

from reference.models import (
    CNN,
    GPT,
    IGNORED,
    MLP,
    TINY,
    Data,
    accuracy,
    batch,
    digits,
    loss_sum,
    mean_loss,
    share,
    text,
)

PAIRS = {
    "mlp": (MLP, digits),
    "cnn": (CNN, digits),
    "batch norm": (lambda: CNN(batch_norm=True), digits),
    "gpt": (lambda: GPT(TINY), lambda: text(32)),
}
every_model = pytest.mark.parametrize("build, make", PAIRS.values(), ids=PAIRS)


def gradient(model):
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])


def test_it_is_the_sum_of_minus_the_log_of_what_the_target_was_given():
    model, data = GPT(TINY), batch(text(32), 3, 0)
    total, count = loss_sum(model, data)
    p = model(data.x).softmax(-1)
    by_hand = -sum(p[i, j, data.y[i, j]].log() for i in range(3) for j in range(32))
    assert count == 96 and total.item() == pytest.approx(by_hand.item(), rel=1e-5)


@every_model
def test_ignored_targets_do_not_count(build, make):
    data, model = batch(make(), 6, 0), build().eval()  # batch norm: by what was seen, not by this batch
    y = data.y.clone()
    y[4:] = IGNORED
    (padded, count), (kept, fewer) = loss_sum(model, Data(data.x, y)), loss_sum(model, Data(data.x[:4], data.y[:4]))
    assert count == fewer == data.y[:4].numel() and padded.item() == pytest.approx(kept.item(), rel=1e-5)
    assert accuracy(model, Data(data.x, y)) == accuracy(model, Data(data.x[:4], data.y[:4]))
    assert mean_loss(model, Data(data.x, y)) == pytest.approx(kept.item() / fewer, rel=1e-5)


@every_model
@pytest.mark.parametrize("how", ["no sample", "all ignored"])
def test_nothing_has_the_gradient_zero(build, make, how):
    data, model = make(), build()
    nothing = Data(data.x[:0], data.y[:0]) if how == "no sample" else Data(data.x[:2], data.y[:2] * 0 + IGNORED)
    total, count = loss_sum(model, nothing)
    total.backward()
    assert total == 0 and count == 0 and not gradient(model).any()
    with pytest.raises(ValueError, match="mean over no targets"):
        mean_loss(model, nothing)
    with pytest.raises(ValueError, match="mean over no targets"):
        accuracy(model, nothing)


def test_sums_over_parts_add_up_and_means_do_not():
    data, model = batch(digits(), 8, 0), MLP()
    parts = [Data(*(share(tensor, part, 3) for tensor in data)) for part in range(3)]  # of 3, 3 and 2
    sums, counts = zip(*[loss_sum(model, part) for part in parts])
    assert sum(sums).item() == pytest.approx(loss_sum(model, data)[0].item(), rel=1e-6) and sum(counts) == 8
    means = sum(mean_loss(model, part) for part in parts) / 3
    assert abs(means - mean_loss(model, data)) > 1e-4


def test_means_over_many_pieces():
    data, model = digits(), MLP()  # 1,437 samples are more than one piece
    total, count = loss_sum(model, data)
    assert mean_loss(model, data) == pytest.approx(total.item() / count, rel=1e-5)
    assert accuracy(model, data) == (model(data.x).argmax(1) == data.y).double().mean()


def test_means_leave_the_model_as_it_was():
    model, data = nn.Sequential(CNN(batch_norm=True), nn.Dropout(0.5)), batch(digits(), 20, 0)
    before = {name: tensor.clone() for name, tensor in model.state_dict().items()}
    assert mean_loss(model, data) == mean_loss(model, data)  # no dropout
    accuracy(model, data)
    assert model.training and all(torch.equal(before[name], tensor) for name, tensor in model.state_dict().items())
    assert mean_loss(model.eval(), data) and not model.training
