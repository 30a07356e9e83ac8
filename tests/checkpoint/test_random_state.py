"""Random state: every generator goes on where it was, after a way through JSON."""

import json
import random

import numpy as np
import pytest
import torch

from reference.checkpoint.random_state import random_state, set_random_state


def drawn(own):
    return [
        torch.rand(3).tolist(),
        torch.randn(1).item(),
        np.random.standard_normal(3).tolist(),  # noqa: NPY002 - the generator that programs share
        random.gauss(0, 1),
        torch.rand(2, generator=own["a"]).tolist(),
        own["b"].random(2).tolist(),
    ]


@pytest.fixture
def own():
    """Generators of a program; the shared ones are put back afterwards."""
    before = random_state()
    yield {"a": torch.Generator().manual_seed(3), "b": np.random.default_rng(4)}
    set_random_state(before)


def test_every_generator_goes_on(own):
    drawn(own)  # in the middle of pairs, as normal numbers are drawn
    text = json.dumps(random_state(own))
    after = drawn(own)
    assert drawn(own) != after
    set_random_state(json.loads(text), own)
    assert drawn(own) == after


def test_generators_are_named(own):
    with pytest.raises(ValueError, match=r"the generators \['a', 'b'\] were saved, and there are \['a'\]"):
        set_random_state(random_state(own), {"a": own["a"]})
