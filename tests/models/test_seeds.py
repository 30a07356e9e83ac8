"""Seeds: the same numbers give the same bits, and nobody else's random numbers are touched."""

import pytest
import torch

from reference.models import CNN, GPT, MLP, TINY, drawn_from, generator, seeded
from reference.worlds import launch

MODELS = {
    "mlp": lambda seed: MLP(seed=seed),
    "cnn": lambda seed: CNN(seed=seed, batch_norm=True),
    "gpt": lambda seed: GPT(TINY, seed=seed),
}


def bits(model):
    return torch.cat([tensor.flatten() for tensor in model.state_dict().values()])


@pytest.mark.parametrize("build", MODELS.values(), ids=MODELS)
def test_a_model_depends_on_its_seed_alone_and_leaves_the_global_generator_alone(build):
    first = bits(build(3))
    before = torch.get_rng_state()
    again = bits(build(3))
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(5)
    assert torch.equal(bits(build(3)), first) and torch.equal(again, first)
    assert not torch.equal(bits(build(4)), first)


def test_every_rank_builds_the_same_model(world):
    """Although each rank's global generator is in another state."""

    def program(comm):
        torch.rand(comm.rank)
        return bits(MLP(seed=5))

    for model in launch(program, 2, world=world).results:
        assert torch.equal(model, bits(MLP(seed=5)))


def test_generators_of_different_numbers_differ():
    draws = {tuple(torch.rand(3, generator=generator(*numbers)).tolist()) for numbers in [(0,), (1,), (0, 1), (1, 0)]}
    assert len(draws) == 4
    assert torch.equal(torch.rand(3, generator=generator(1, 2)), torch.rand(3, generator=generator(1, 2)))


def test_the_global_generator_is_put_back_after_an_error():
    before = torch.get_rng_state()
    with pytest.raises(KeyError), seeded(0):
        torch.rand(1)
        raise KeyError
    assert torch.equal(torch.get_rng_state(), before)


def test_models_are_built_on_the_cpu_whatever_the_default_device():
    with torch.device("meta"):
        assert torch.equal(bits(MLP(seed=1)), bits(MLP(seed=1))) and bits(MLP()).device.type == "cpu"


def test_what_is_drawn_in_a_block_comes_from_its_numbers_and_the_device_stays():
    """As `seeded`, but for the device: a pass may compute on another one."""
    before = torch.get_rng_state()
    with drawn_from(1, 2):
        drawn = torch.rand(3)
    with drawn_from(1, 3):
        assert not torch.equal(torch.rand(3), drawn)
    with torch.device("meta"):
        with drawn_from(1, 2):
            assert torch.empty(1).is_meta
            again = torch.rand(3, device="cpu")
        with seeded(1, 2):
            assert torch.equal(torch.rand(3), drawn)
    assert torch.equal(again, drawn) and torch.equal(torch.get_rng_state(), before)
