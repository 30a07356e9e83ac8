"""A GPT on a mesh: logits of any grid of tensor and context parallelism are the serial model's, and dropout's masks."""

import pytest
import torch

from reference.mesh import Axes, Mesh
from reference.mesh.gpt import MeshGPT, SeededMasks
from reference.models import GPT, Config, seeded
from reference.pipeline.runtime.boundaries import of
from reference.pipeline.stages import cut
from reference.sequence_parallel import zigzag
from reference.worlds import RankFailed, launch

CONFIG = Config(vocabulary=16, length=8, width=16, heads=4, layers=2)


@pytest.mark.parametrize("attention", ["ring", "ulysses", "gather"])
@pytest.mark.parametrize("t, c, sequence", [(2, 2, False), (2, 2, True), (1, 2, False)])
def test_logits_are_the_serial_models_and_stages_hand_on_what_was_foretold(t, c, sequence, attention):
    gpt, layout = GPT(CONFIG, seed=1).double(), zigzag(8, c)
    tokens = torch.randint(16, (3, 8), generator=torch.Generator().manual_seed(0))
    expected = gpt(tokens)

    def program(comm):
        mesh = Mesh(comm, Axes({"cp": c, "tp": t}))
        part = MeshGPT(mesh["tp"], mesh["cp"], gpt, layout, attention, sequence=sequence)
        x = own = layout.shard(tokens, mesh.coordinate("cp"), 1)
        handed = []
        for stage in cut(part, (1, 2, 4), part.links()):
            x = stage(x)
            handed.append(of(x))
        assert handed == part.boundaries(3)(of(own))
        return mesh.coordinates, x

    for where, logits in launch(program, t * c).results:
        mine = layout.shard(expected, where["cp"], 1).chunk(t, -1)[where["tp"]]
        assert torch.allclose(logits, mine, rtol=1e-10, atol=1e-12)


def test_what_a_tensor_parallel_group_holds_together_gets_one_mask_and_what_each_holds_alone_gets_another():
    def program(comm):
        masks, ones = SeededMasks(comm), torch.ones(4, 100)
        with seeded(3, 1, 0, 2):
            shared, own = masks.dropout(ones, 0.5), masks.dropout(ones, 0.5, 1, range(100), 200)
        with seeded(3, 1, 0, 2):  # the pass is repeated
            again = masks.dropout(ones, 0.5), masks.dropout(ones, 0.5, 1, range(100), 200)
        assert torch.equal(again[0], shared) and torch.equal(again[1], own)
        return shared, own

    (shared, own), (theirs, other) = launch(program, 2).results
    assert torch.equal(shared, theirs)
    assert 0.35 < (own == other).float().mean() < 0.65, "masks of different elements are correlated"


def test_dropout_with_a_sequence_that_is_cut_is_refused_on_every_rank():
    def program(comm):
        gpt = GPT(CONFIG._replace(dropout=0.1))
        MeshGPT(comm.Split(comm.rank), comm, gpt, zigzag(8, 2))

    with pytest.raises(RankFailed, match=r"trained without dropout here, got 0\.1") as told:
        launch(program, 2)
    assert len(told.value.errors) == 2
