"""Training on a mesh: every combination equals the serial program, in losses and in all weights after ten steps."""

import functools
from typing import NamedTuple

import pytest
import torch

from reference.mesh import Axes
from reference.mesh.training import Composition, train_on_mesh
from reference.models import GPT, IGNORED, Config, Data, train
from reference.pipeline.schedules.catalogue import make
from reference.sequence_parallel import contiguous, striped, zigzag
from reference.worlds import launch

SMALL = Config(vocabulary=16, length=8, width=16, heads=4, layers=2)
BATCH, CLIP = 8, 0.1
TOKENS = {"zigzag": zigzag, "contiguous": contiguous, "striped": striped}


def sequences(samples: int = 20) -> Data:
    """Sequences whose targets count or not: the parts of a batch have unequal numbers of them."""
    draw = torch.Generator().manual_seed(5)
    x = torch.randint(16, (samples, 9), generator=draw)
    y = torch.where(torch.rand((samples, 8), generator=draw) < 0.4, IGNORED, (x[:, :-1] * 3 + x[:, 1:]) % 16)
    return Data(x[:, :-1], y)


def adam(named):
    return torch.optim.Adam(named, lr=0.01)


class Case(NamedTuple):
    """A layout: degrees, and the rest."""

    d: int = 1
    t: int = 1
    p: int = 1
    c: int = 1
    zero: int = 0
    schedule: str = "1F1B"
    m: int = 1
    v: int | None = None
    order: str = "dp-pp-cp-tp"
    clip: float | None = None
    recompute: str = "none"
    attention: str = "ring"
    tokens: str = "zigzag"
    form: tuple[str, ...] = ()
    layers: int = 2
    kv_heads: int | None = None
    tied: bool = True
    batch: int = BATCH

    @property
    def ranks(self):
        return self.d * self.t * self.p * self.c

    @property
    def config(self):
        return SMALL._replace(layers=self.layers, kv_heads=self.kv_heads, tied=self.tied)

    @property
    def how(self):
        """As train_on_mesh takes it."""
        axes = Axes.in_order(self.order, dp=self.d, pp=self.p, cp=self.c, tp=self.t)
        tokens = TOKENS[self.tokens](SMALL.length, self.c) if self.c > 1 else None
        schedule, form = make(self.schedule, self.p, self.m, self.v), dict.fromkeys(self.form, True)
        return Composition(axes, schedule, self.zero, self.clip, self.recompute, tokens, self.attention, form)

    def __str__(self):
        return " ".join(f"{k}={v}" for k, v in self._asdict().items() if v != Case._field_defaults[k])


@functools.cache
def serial(config: Config, clip: float | None, batch: int, steps: int):
    """Losses and weights of the serial program."""
    gpt = GPT(config, seed=3).double()
    optimizer = adam(list(gpt.named_parameters()))
    if clip:
        optimizer.register_step_pre_hook(lambda *_: torch.nn.utils.clip_grad_norm_(gpt.parameters(), clip) and None)
    return train(gpt, sequences(), optimizer, steps, batch), dict(gpt.named_parameters())


def trained(comm, case: Case, steps: int = 10):
    """Losses, and the whole model that this rank has in the end; it began with other weights than rank 0."""
    model = GPT(case.config, seed=3 + comm.rank).double()
    done = train_on_mesh(comm, case.how, model, sequences(), adam, range(steps), case.batch)
    return done.losses, dict(model.named_parameters())


def compare(case: Case, results, steps: int = 10):
    losses, weights = serial(case.config, case.clip, case.batch, steps)
    for ours, found in results:
        assert ours == pytest.approx(losses, rel=1e-9)
        for name, weight in weights.items():
            assert (found[name] - weight).abs().max() < 1e-8, name


TEN_STEPS = [
    Case(d=2, t=2, p=2, m=2, zero=1, clip=CLIP, recompute="full"),
    pytest.param(Case(t=2, p=2, c=2, m=2, clip=CLIP), marks=pytest.mark.long),
    pytest.param(Case(d=2, t=2, c=2, zero=3, m=2, clip=CLIP), marks=pytest.mark.long),
]
LAYOUTS = [
    # one axis
    Case(d=4, clip=CLIP),
    Case(t=4, form=("sequence",)),
    Case(c=4, attention="gather"),
    Case(p=4, m=4, layers=4),
    Case(d=2, batch=3, m=2),  # a copy has one sample for two micro-batches
    # two axes
    Case(d=2, t=2, clip=CLIP),
    Case(d=2, t=4, kv_heads=2, clip=CLIP),  # two ranks hold the same keys and values
    Case(d=2, t=2, tied=False, zero=1),
    Case(d=2, t=2, zero=2, m=2, clip=CLIP),
    Case(d=2, t=2, zero=3, recompute="full", form=("sequence", "overlap")),
    Case(d=2, t=3, form=("pad",), clip=CLIP),
    Case(d=2, p=2, m=2, zero=1, clip=CLIP),
    Case(d=3, p=2, m=3, clip=CLIP),  # shares of 3, 3 and 2 sequences
    Case(d=3, p=2, m=2, zero=1, batch=5),
    Case(d=2, p=2, m=2, tied=False, recompute="full"),
    Case(d=2, p=2, m=4, schedule="interleaved 1F1B", layers=4, clip=CLIP),
    Case(d=2, p=2, m=4, schedule="DualPipe", clip=CLIP),
    Case(d=2, p=2, m=2, schedule="GPipe", zero=1, recompute="full"),
    Case(d=2, c=2, clip=CLIP),
    Case(d=2, c=2, zero=1, m=2, clip=CLIP),
    Case(d=2, c=2, zero=2, attention="ulysses"),
    Case(d=2, c=2, zero=3, tokens="striped", recompute="every:2", clip=CLIP),
    Case(t=2, c=2, form=("sequence",), clip=CLIP),
    Case(t=2, c=2, attention="ulysses", tokens="contiguous"),
    Case(t=2, c=2, attention="ulysses", kv_heads=2, order="tp-cp-dp-pp"),
    Case(t=2, c=2, zero=1, kv_heads=1, clip=CLIP),
    Case(t=2, p=2, m=2, form=("sequence", "overlap")),
    Case(t=2, p=2, m=4, schedule="ZB-V", layers=4, clip=CLIP),
    Case(t=2, p=2, m=4, schedule="ZB-H1", recompute="full", clip=CLIP),
    Case(t=2, p=2, m=4, schedule="DualPipeV", layers=4),
    Case(t=2, p=2, m=2, order="tp-pp-cp-dp", kv_heads=2, clip=CLIP),
    Case(p=2, c=2, m=2, clip=CLIP, tokens="contiguous"),
    Case(p=2, c=2, m=4, schedule="ZB-V", layers=4, zero=1, attention="gather"),
    Case(p=2, c=4, m=2, clip=CLIP, tokens="striped", batch=5, order="cp-pp-dp-tp"),
    # three axes
    Case(d=2, t=2, p=2, m=2, clip=CLIP),
    Case(d=2, t=2, p=2, m=2, zero=1, order="pp-dp-cp-tp", form=("sequence",), clip=CLIP),
    Case(d=2, t=2, p=2, m=2, zero=1, kv_heads=1, tied=False, clip=CLIP),
    Case(d=2, t=2, p=2, m=3, schedule="GPipe", order="tp-dp-pp-cp", batch=7),
    Case(d=2, t=2, c=2, zero=1, clip=CLIP, form=("sequence",)),
    Case(d=2, t=2, c=2, zero=2, m=2, clip=CLIP),
    Case(d=2, p=2, c=2, m=2, zero=1, recompute="full", clip=CLIP),
    Case(d=2, p=2, c=2, m=2, order="cp-dp-tp-pp"),
    Case(t=2, p=2, c=2, m=2, schedule="interleaved 1F1B", layers=4, form=("sequence",), clip=CLIP),
    # four axes
    Case(d=2, t=2, p=2, c=2, m=2, zero=1, recompute="full", form=("sequence",), clip=CLIP),
]
ON_REAL_RANKS = [
    Case(d=2, t=2, zero=1, clip=CLIP),
    Case(d=2, p=2, m=2, zero=1, clip=CLIP),
    Case(t=2, p=2, m=2, form=("sequence",)),
    Case(d=2, c=2, zero=3, clip=CLIP),
    Case(t=2, c=2, attention="ulysses"),
    Case(p=2, c=2, m=2, recompute="full"),
]
LARGEST = Case(d=2, t=4, p=4, c=2, m=4, zero=1, layers=4, clip=CLIP)


def test_the_table_has_forty_layouts_and_every_form():
    assert len(set(LAYOUTS)) == len(LAYOUTS) >= 40 and LARGEST.ranks == 64
    assert {case.zero for case in LAYOUTS} == {0, 1, 2, 3} and max(case.ranks for case in LAYOUTS) == 16


@pytest.mark.parametrize("case", LAYOUTS, ids=str)
def test_losses_and_weights_are_the_serial_programs(case):
    compare(case, launch(trained, case.ranks, case, 2).results, 2)


@pytest.mark.parametrize("case", TEN_STEPS, ids=str)
def test_and_so_they_are_after_ten_steps(case):
    compare(case, launch(trained, case.ranks, case).results)


@pytest.mark.long
def test_sixty_four_ranks_on_four_axes():
    compare(LARGEST, launch(trained, 64, LARGEST, 1).results, 1)


@pytest.mark.mpi
@pytest.mark.parametrize("case", ON_REAL_RANKS, ids=str)
def test_on_real_ranks_too(case):
    compare(case, launch(trained, case.ranks, case, 2, world="mpi").results, 2)
