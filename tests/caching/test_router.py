"""The small model with experts: each token uses k, the others get no gradient, and training lowers the loss."""

import torch

from reference.caching.router import SMALL, Experts, RoutedGPT, routing, trained
from reference.models import batch, text


def test_a_token_s_output_is_that_of_its_two_experts():
    torch.manual_seed(0)
    layer = Experts(8, experts=5, k=2).double()
    x = torch.randn(1, 3, 8, dtype=torch.float64)
    y = layer(x)
    for token in range(3):
        chosen = layer.chosen[0, token]
        weights = layer.router(x[0, token])[chosen].softmax(-1)
        outputs = [torch.relu(x[0, token] @ layer.up[e]) @ layer.down[e] for e in chosen]
        assert torch.allclose(y[0, token], sum(w * out for w, out in zip(weights, outputs)))
    y.sum().backward()
    unused = set(range(5)) - set(layer.chosen.flatten().tolist())
    assert all(not layer.up.grad[e].any() for e in unused) and layer.up.grad[int(layer.chosen[0, 0, 0])].any()


def test_the_second_loss_is_least_when_all_experts_are_used_alike():
    layer = Experts(4, experts=4, k=1).double()
    with torch.no_grad():
        layer.router.weight.copy_(5 * torch.eye(4))
    balanced, lopsided = torch.eye(4, dtype=torch.float64)[None], torch.eye(4, dtype=torch.float64)[None, [0, 0, 0, 0]]
    layer(balanced)
    even = float(layer.balance.detach())
    layer(lopsided)
    assert even < float(layer.balance.detach())


def test_training_learns_and_routing_is_in_reading_order():
    model = trained(6, SMALL._replace(length=16, width=16))
    x, y = batch(text(16), 8, 0)
    fresh = RoutedGPT(SMALL._replace(length=16, width=16), 16, 2)
    losses = [torch.nn.functional.cross_entropy(each(x).flatten(0, 1), y.flatten()).item() for each in (model, fresh)]
    assert losses[0] < losses[1]
    chosen = routing(model, 3)
    assert chosen.shape == (3 * 16, 2, 2) and int(chosen.max()) < 16
    assert torch.equal(chosen[:, 1, :], model.experts[1].chosen.flatten(0, 1))
