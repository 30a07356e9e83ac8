"""A GPT on a mesh: each layer cut over tp, each sequence over cp, and the chain of layers that pipeline stages share.

Idea      Tensor parallelism cuts what is inside a layer, context parallelism the tokens, and attention is the one place
          where both meet: a rank has some heads (tp) of some tokens (cp), and these heads meet the keys of other tokens
          on the ranks of cp, which hold the same heads. Everything else works on each token by itself. So the
          tensor-parallel GPT needs two changes only: how its heads attend, and which positions its tokens have.
Exact     With 1 rank on an axis nothing of that axis is left: the same class is the serial model on 1 x 1.
Left out  Dropout with a sequence that is cut: the weights of attention are never whole on any rank.
Source    Shoeybi et al. (2019); Grattafiori et al., "The Llama 3 Herd of Models" (2024), section 3.3.2.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any, cast

import torch
from torch import Tensor

from .. import models, tensor_parallel
from ..models import generator
from ..pipeline.runtime.boundaries import Boundary
from ..pipeline.stages import ChainLink
from ..sequence_parallel import SequenceLayout
from ..sequence_parallel.gpt import METHODS
from ..tensor_parallel.dropout import Masks


class SeededMasks(Masks):
    """Dropout that begins with torch's global generator, which a pipeline seeds anew for each pass.

    What is the same on all ranks of a tensor-parallel group gets the same mask; of what each rank holds alone, each has
    a mask of its own, from a number that all draw together. So a pass that is repeated draws the same masks again.
    """

    def __init__(self, comm):
        self.exact, self.rank, self.common = False, comm.rank, torch.default_generator

    @property
    def own(self) -> torch.Generator:  # type: ignore[override]
        """A new generator of this rank."""
        return generator(int(torch.randint(2**31, (1,))), 1 + self.rank)

    def state(self) -> Tensor:  # type: ignore[override]
        """That of the global generator, from which all follows."""
        return self.common.get_state()

    def restore(self, state: Tensor) -> None:  # type: ignore[override]
        """Go back to a `state`."""
        self.common.set_state(state)


class MeshGPT(tensor_parallel.GPT):
    """This rank's part of a serial models.GPT: its heads, columns and rows of each layer, for its tokens.

    tp, cp     the groups that share layers and sequences
    tokens     which tokens the ranks of cp have; None if it is one rank
    attention  how heads meet the keys of other ranks: "ring", "ulysses", "gather"
    form       sequence, overlap, pad: as for tensor_parallel.GPT

    Parameters have the names of the serial model's. Raises ValueError on every rank for what cannot be shared.
    """

    def __init__(
        self, tp, cp, serial: models.GPT, tokens: SequenceLayout | None = None, attention: str = "ring", **form: Any
    ):
        if cp.size > 1 and serial.config.dropout:
            raise ValueError(f"a sequence that is cut is trained without dropout here, got {serial.config.dropout}")
        super().__init__(tp, serial, SeededMasks(tp), check=False, **form)
        self.places: Tensor | None = None
        if cp.size > 1:
            assert tokens is not None
            self.places = tokens.of(cp.rank).positions
            attend = partial(METHODS[attention], cp, layout=tokens, checked=False)
            for block in self.blocks:
                cast(Any, block).attention.attend = attend

    def positions(self, s: int) -> Tensor:
        """The position embedding of this rank's tokens, [s, h]."""
        return super().positions(s) if self.places is None else self.position.weight[self.places]

    def links(self) -> list[ChainLink]:
        """The model as a chain, for `pipeline.stages.cut`: as long as the serial model's."""
        first = ChainLink("embedding", ("token", "position"), lambda _, tokens: self.embed(tokens))
        last = ChainLink("head", ("norm", "head"), lambda _, x: self.tell(x))
        return [first, *(self._block(k) for k in range(len(self.blocks))), last]

    def _block(self, k: int) -> ChainLink:
        return ChainLink(f"blocks.{k}", (f"blocks.{k}",), lambda _, x: self.blocks[k](x))

    def boundaries(self, stages: int) -> Callable[[Boundary], list[Boundary]]:
        """What each of so many stages hands on, given the shape of a micro-batch's tokens: for `Pipeline`."""
        kind, P = self.norm.weight.dtype, self.comm.size

        def foretold(x: Boundary) -> list[Boundary]:
            b, s = x.shape
            between = Boundary((b, s // P if self.sequence else s, self.config.width), kind, True)
            return [between] * (stages - 1) + [Boundary((b, s, len(self.head.weight)), kind, True)]

        return foretold
