"""Priority: the gradient that the next forward pass needs first leaves first, and a layer waits for no other's.

Idea      A Replica waits for all gradients before the optimizer's step. Yet the first layer can go forward as soon as
          it has its own. So each layer takes its step just before its own forward pass, and meanwhile the gradients of
          the layers behind it are still coming in. The first layer's gradient is ready last and needed first: it has
          to overtake what has not left yet.
Before    backward |bbbb|          |ffff| forward         (networks/priority.py: the same for one port, in theory)
          network     |3333222211110000|
After     backward |bbbb|     |f f f f|
          network     |33 2 1 0000 11 22 33|
Sends     As many bytes as a Replica.
Price     A piece that is late holds up those behind it. What has left cannot be called back: small pieces overtake
          better, and each costs its latency; more credits keep the network busy, and let less overtake.
Exact     Ranks that choose for themselves what leaves next choose differently, and their collectives do not meet. So
          one order of pieces is made beforehand from times that are alike on all ranks (`order_of_pieces`), and each
          rank starts a piece when it is its turn, its layer is complete, and fewer than `credits` are under way.
Left out  Whatever needs all gradients before the first step, such as clipping by their norm.
Source    Jayarajan et al., "Priority-based Parameter Propagation for Distributed DNN Training" (P3, 2019); Peng et al.,
          "A Generic Communication Scheduler for Distributed DNN Training Acceleration" (ByteScheduler, 2019).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from torch import Tensor, nn
from torch.optim import Optimizer

from ..agreement import agree
from ..networks.priority import by_queue, gradient_messages, serve
from .average import finished_count
from .layers import Layer
from .replica import Replica, start_allreduce


class GradientSlice(NamedTuple):
    """Bytes `first` to `end` of the gradient of a layer; layers are numbered as they go forward."""

    layer: int
    first: int
    end: int


def order_of_pieces(
    layers: Sequence[Layer], alpha: float, beta: float, chunk: float, order: Callable = by_queue
) -> list[GradientSlice]:
    """In which order the pieces leave, of at most `chunk` bytes, if all takes as long as it is expected to.

    chunk: a multiple of an element's bytes, or infinity. layers: as they go forward (layers.py).
    alpha, beta: an all-reduce of n bytes takes alpha + n beta seconds. order: by_queue, the first layer first; or
    another one of networks/priority.py, such as fifo.
    """
    messages = gradient_messages(*zip(*((layer.nbytes, layer.backward, layer.forward) for layer in layers)))
    sent, pieces = [0] * len(layers), []
    for span in serve(messages, alpha, beta, order, chunk):
        layer: Any = span.name  # its number, by which gradient_messages() calls the message
        first, end = sent[layer], min(sent[layer] + chunk, layers[layer].nbytes)
        pieces.append(GradientSlice(layer, int(first), int(end)))
        sent[layer] = end
    return pieces


class Prioritised(Replica):
    """A replica without a barrier between steps: each layer is updated just before its next forward pass.

        replica = Prioritised(comm, module, lambda own: torch.optim.SGD(own, lr=0.1), pieces)
        replica.backward(*loss_sum(module, batch))  # returns while gradients are under way
        loss_sum(module, next_batch)  # takes the optimizers' steps, layer by layer
        replica.finish()  # before the weights are looked at: evaluation, checkpoint, end

    optimizer   makes the optimizer of one layer from its parameters
    pieces      in which order they leave (order_of_pieces): all of them, the same on all ranks. Layers are the modules
                that have trained parameters of their own, in the order in which they are registered, which must be
                that of the forward pass
    credits     how many pieces may be under way
    communicate(comm, number, flat) as for Replica; `number` is the piece's.

    Raises ValueError as Replica does, an impossible count at the next forward pass; and RuntimeError if a forward pass
    has not called a layer, and so may have used its old weights.
    """

    def __init__(
        self,
        comm,
        module: nn.Module,
        optimizer: Callable[[list[nn.Parameter]], Optimizer],
        pieces: Sequence[GradientSlice],
        credits: int = 2,
        communicate: Callable = start_allreduce,
    ):
        super().__init__(comm, module, communicate=communicate)
        layers = _layers(module, self.parameters)
        agree(comm, "the pieces and credits", [*map(str, pieces), f"{credits=}"])
        self._lay_out([numbers for _, numbers in layers])
        _check(pieces, [bucket.flat for bucket in self.buckets], credits)
        self.pieces, self.credits = list(pieces), credits
        self._last = [max(i for i, piece in enumerate(pieces) if piece.layer == layer) for layer in range(len(layers))]
        self._optimizers = [optimizer(bucket.parameters) for bucket in self.buckets]
        self._waiting: set[int] = set()  # layers whose step has not been taken
        for layer, (owner, _) in enumerate(layers):
            self._hooks.append(owner.register_forward_pre_hook(lambda *_, layer=layer: self._update(layer)))

    def finish(self) -> None:
        """Take the steps that are left: now the weights are those after the last backward."""
        for layer in sorted(self._waiting):
            self._update(layer)

    def _begin_step(self) -> None:
        if self._waiting:
            names = [self.names[number] for layer in sorted(self._waiting) for number in self.assignment[layer]]
            raise RuntimeError(
                f"the last step has not been taken for {', '.join(names)}: their module was not called in this forward "
                f"pass. If it uses them in another way, it has used old weights; else call finish() before backward"
            )
        super()._begin_step()

    def _start_full(self) -> None:
        """Start the pieces whose turn it is."""
        while self._started < len(self.pieces) and len(self._under_way) < self.credits:
            layer, first, end = self.pieces[self._started]
            if self._missing[layer]:
                return
            flat = self.buckets[layer].flat
            request = self.communicate(self.comm, self._started, flat[first // flat.itemsize : end // flat.itemsize])
            self._requests.append(request)
            self._under_way.append(request)
            self._started += 1

    def _finish(self) -> None:
        """The backward pass is over: go on, and let what is under way arrive during the next forward pass."""
        self._add_unused()
        self._complete, self._arrived = True, 0
        self._samples: float | None = None  # of all ranks, once it is known
        self._waiting = set(range(len(self.buckets)))
        self._advance()

    def _update(self, layer: int) -> None:
        """The hook before a layer goes forward: wait for its pieces, and those before them, and take its step."""
        if layer not in self._waiting:
            return
        while self._arrived <= self._last[layer]:
            self._requests[1 + self._arrived].Wait()  # behind the count's
            self._arrived += 1
            self._advance()
        if self._samples is None:
            self._requests[0].Wait()
            self._samples = finished_count(self.comm, self._total, self.samples)
        self.buckets[layer].flat.div_(self._samples)
        self._optimizers[layer].step()
        self._waiting.discard(layer)


def _layers(module: nn.Module, parameters: Sequence[nn.Parameter]) -> list[tuple[nn.Module, list[int]]]:
    """Each module with the numbers of its own trained parameters; a tied one belongs to the first that has it."""
    numbers, layers = {id(parameter): i for i, parameter in enumerate(parameters)}, []
    for owner in module.modules():
        own = [numbers.pop(id(p)) for p in owner.parameters(recurse=False) if id(p) in numbers]
        if len({parameters[i].dtype for i in own}) > 1:
            raise ValueError(f"the parameters of one layer must be of one type: {owner}")
        if own:
            layers.append((owner, own))
    return layers


def _check(pieces: Sequence[GradientSlice], flats: Sequence[Tensor], credits: int) -> None:
    """Raise ValueError unless the pieces are all bytes of all layers, each once, in whole elements."""
    nbytes = {layer: flat.nbytes for layer, flat in enumerate(flats)}
    if credits < 1 or {piece.layer for piece in pieces} != set(nbytes):
        raise ValueError(f"pieces of each of {len(nbytes)} layers are wanted, and {credits=} must be 1 or more")
    for layer, total in nbytes.items():
        own = sorted(piece for piece in pieces if piece.layer == layer)
        firsts, ends = [piece.first for piece in own], [piece.end for piece in own]
        if [*firsts, total] != [0, *ends] or any(first % flats[layer].itemsize for first in firsts):
            raise ValueError(
                f"the pieces of layer {layer} must be its {total} bytes, each once, in whole elements of "
                f"{flats[layer].itemsize} bytes: got {own}"
            )
