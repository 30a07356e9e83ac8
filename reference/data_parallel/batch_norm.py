"""BatchNorm across ranks: the statistics of the global batch, with one collective each way, or none to wait for.

Idea      BatchNorm is a common layer in which the samples of a batch meet. Averaging gradients does not mend
          that: each rank has normalised with mean and variance of its own few samples. So these must be exchanged.
Before    y = (x - mean_r) / sqrt(var_r + eps)     over the samples of rank r: many small batches, not one large
After     y = (x - mean) / sqrt(var + eps)         over the samples of all ranks: what the serial program computes
          Forward, n, mean and M = sum (x - mean)^2 are combined over the ranks in one all-reduce. Its operation is not
          the sum but Chan's: with sums of x and x^2, the variance E[x^2] - E[x]^2 cancels where the mean is large.
          Backward, each x has moved the mean and the variance for all samples on all ranks. With x' = (x - mean) / s,
          s^2 = var + eps, and sums over all ranks, in one all-reduce:  dx = w / s (dy - sum(dy) / n - x' sum(dy x') /
          n). The gradients of weight and bias stay sums over this rank, like those of any other layer.
Sends     (2 C + 1) 8 bytes forward and 2 C 8 backward for C channels, each log2 P times (recursive doubling).
Price     log2 P latencies each way in each such layer (if P is no power of two, its whole part and two more), which
          nothing hides: the layer needs the result at once.
Exact     The delayed one normalises with the global statistics of the step before and sends those of this step
          meanwhile. Exact: all ranks use the same numbers, which are those of a whole global batch, and so are the
          running ones; the gradient is that of what was computed. Not exact: the numbers are a step old, and constants,
          so that the backward pass lacks the two means and y has not quite mean 0 and variance 1. The same as
          SyncBatchNorm only if nothing changes; training bears a smaller learning rate.
Left out  Statistics of groups of ranks: give a communicator from Split. Frozen ones: call eval().
Source    Ioffe & Szegedy, "Batch Normalization" (2015); Chan, Golub & LeVeque, "Updating Formulae and a Pairwise
          Algorithm for Computing Sample Variances" (1979).
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm

from .. import mpi
from ..collectives import allreduce

# Statistics travel as one float64 vector [2 C + 1]: n, then of each channel the mean, then M. (A count may well be
# larger than 2^24, up to which float32 counts exactly: each pixel counts.)


def unpack_statistics(packed: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """n [1], mean [C] and M [C]: views."""
    return packed.split([1, len(packed) // 2, len(packed) // 2])


def by_channel(x: Tensor) -> Tensor:
    """x [N, C, ...] as [C, n], in float32 or better."""
    return x.detach().to(torch.promote_types(x.dtype, torch.float32)).transpose(0, 1).flatten(1)


def statistics(x: Tensor) -> Tensor:
    """n, mean and M of each channel of x [N, C, ...]; zeros if x is empty."""
    values = by_channel(x)
    found = values.new_zeros(2 * len(values) + 1, dtype=torch.float64)
    if n := values.shape[1]:
        variance, mean = torch.var_mean(values, 1, correction=0)
        found[0], found[1:] = n, torch.cat([mean, n * variance.double()])
    return found


def combine(a: Tensor, b: Tensor) -> Tensor:
    """The statistics of two parts together: with d = mean_b - mean_a and n = n_a + n_b,

        mean = mean_a + d n_b / n          M = M_a + M_b + d^2 n_a n_b / n          (Chan, Golub & LeVeque)

    Up to rounding it does not matter in which order parts are combined, as with a sum.
    """
    (n_a, mean_a, M_a), (n_b, mean_b, M_b) = unpack_statistics(a), unpack_statistics(b)
    n, d = n_a + n_b, mean_b - mean_a
    some = n.clamp(min=1)  # two empty parts together are an empty one
    return torch.cat([n, mean_a + d * (n_b / some), M_a + M_b + d * d * (n_a * n_b / some)])


def global_statistics(comm, x: Tensor) -> Tensor:
    """n, mean and M over the x of all ranks, in the same bits on all."""
    return allreduce(comm, statistics(x), combine, algorithm="recursive doubling")  # one that does not cut the vector


class Normalise(torch.autograd.Function):
    """y = (x - mean) / sqrt(var + eps) weight + bias, where mean and var depend on the x of all ranks."""

    @staticmethod
    def forward(ctx, comm, x, weight, bias, packed, eps):
        """y [N, C, ...], of this rank's x; packed: `global_statistics`."""
        n, mean, M = unpack_statistics(packed)
        inverse = (M / n + eps).rsqrt()
        ctx.comm, ctx.n = comm, n
        ctx.save_for_backward(x, weight, mean, inverse)
        return F.batch_norm(x, _like(mean, x), _like(M / n, x), weight, bias, False, 0.0, eps)

    @staticmethod
    def backward(ctx, dy):
        """dx, and the sums of weight and bias over this rank."""
        x, weight, mean, inverse = ctx.saved_tensors
        shape = [1, -1] + [1] * (x.dim() - 2)
        normed = (x - _like(mean, x).view(shape)) * _like(inverse, x).view(shape)  # x'
        local = torch.cat([by_channel(dy).sum(1), by_channel(dy * normed).sum(1)]).double()
        sums = allreduce(ctx.comm, local.clone(), algorithm="recursive doubling")
        mean_dy, mean_dy_normed = _like(sums / ctx.n, x).view(2, *shape)
        scale = _like(inverse if weight is None else inverse * weight, x).view(shape)
        dx = scale * (dy - mean_dy - normed * mean_dy_normed)
        own = (None, None) if weight is None else local.to(weight.dtype).chunk(2)[::-1]
        return None, dx, *own, None, None


def _like(values: Tensor, x: Tensor) -> Tensor:
    return values.to(torch.promote_types(x.dtype, torch.float32))


class SyncBatchNorm(_BatchNorm):
    """BatchNorm of x [N, C, ...] over the batches of all ranks. Collective in training, forward and backward.

    N may differ between ranks and be 0 on some. Parameters and buffers are those of torch.nn.BatchNorm.
    Raises ValueError on every rank if the whole batch has fewer than 2 values a channel: their variance is none.
    """

    def __init__(self, comm, num_features: int, **options):
        super().__init__(num_features, **options)
        self.comm = comm

    def forward(self, x: Tensor) -> Tensor:
        """x [N, C, ...] -> y of the same shape."""
        self._check_input_dim(x)
        if not self.training and self.running_mean is not None:
            return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, False, 0.0, self.eps)
        return self.normalise(x)

    def normalise(self, x: Tensor) -> Tensor:
        """With the statistics of this batch."""
        packed = self.checked(global_statistics(self.comm, x))
        self.track(packed)
        return Normalise.apply(self.comm, x, self.weight, self.bias, packed, self.eps)

    def checked(self, packed: Tensor) -> Tensor:
        """These statistics, if they are of 2 values or more."""
        if packed[0] < 2:
            raise ValueError(
                f"BatchNorm over {self.comm.size} ranks needs 2 or more values a channel in training, and there are "
                f"{int(packed[0])}: make the global batch larger, or call eval()"
            )
        return packed

    @torch.no_grad()
    def track(self, packed: Tensor) -> None:
        """Move the running mean and the running (unbiased) variance towards those of this batch."""
        if self.running_mean is None or not self.training:
            return
        n, mean, M = unpack_statistics(packed)
        self.num_batches_tracked += 1
        share = 1 / float(self.num_batches_tracked) if self.momentum is None else self.momentum
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        self.running_var.lerp_((M / (n - 1)).to(self.running_var.dtype), share)

    def _check_input_dim(self, x: Tensor) -> None:
        if x.dim() < 2 or x.shape[1] != self.num_features:
            raise ValueError(f"expected [N, {self.num_features}, ...], got {list(x.shape)}")


class DelayedBatchNorm(SyncBatchNorm):
    """BatchNorm with the global statistics of the step before, so that no rank waits: see Exact above.

    Those of this step travel meanwhile, and are awaited in the next forward pass or in eval(). What has been learned of
    the last step is not part of the state_dict: the first step waits for its own statistics, also after loading.
    """

    def __init__(self, comm, num_features: int, **options):
        super().__init__(comm, num_features, **options)
        self.known: Tensor | None = None  # n, mean and M of the step before
        self.under_way: tuple[Tensor, mpi.Request] | None = None

    def normalise(self, x: Tensor) -> Tensor:
        """With the statistics of the step before, as constants; in the first step with its own."""
        self.finish()
        if self.known is None:
            self.known = self.checked(global_statistics(self.comm, x))
        n, mean, M = unpack_statistics(self.known)
        self.start(x)
        return F.batch_norm(x, _like(mean, x), _like(M / n, x), self.weight, self.bias, False, 0.0, self.eps)

    def start(self, x: Tensor) -> None:
        """Begin to sum n, x - K and (x - K)^2 over the ranks; K, the mean of the step before, keeps M from cancelling.

        MPI's own sum, which may go on by itself; Chan's operation would wait for us after every message.
        """
        values = by_channel(x)
        values = values - unpack_statistics(self.known)[1].to(values.dtype)[:, None]
        sums = torch.cat([values.new_empty(1), values.sum(1), values.square().sum(1)]).double()
        sums[0] = values.shape[1]
        self.under_way = sums, self.comm.Iallreduce(mpi.IN_PLACE, sums)

    def finish(self) -> None:
        """Take in what was begun in the last step, if anything was."""
        if self.under_way is None:
            return
        (sums, request), self.under_way = self.under_way, None
        request.Wait()
        n, first, second = unpack_statistics(self.checked(sums))
        self.known = torch.cat(
            [n, unpack_statistics(self.known)[1] + first / n, (second - first * first / n).clamp(min=0)]
        )
        self.track(self.known)

    def train(self, mode: bool = True) -> DelayedBatchNorm:
        """Switch between training and evaluation; before this, take in what is under way."""
        if not mode:
            self.finish()
        return super().train(mode)


def convert(comm, module: nn.Module, kind: type[SyncBatchNorm] = SyncBatchNorm) -> nn.Module:
    """Put a `kind` in the place of each BatchNorm1d, 2d, 3d in the module, with its parameters and buffers.

    Collective: they get a communicator of their own, so that their messages cannot meet those of the gradients,
    which may be under way during the backward pass.
    """
    return _converted(comm.Dup(), module, kind)


def _converted(comm, module: nn.Module, kind: type[SyncBatchNorm]) -> nn.Module:
    if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)):
        new = kind(
            comm,
            module.num_features,
            eps=module.eps,
            momentum=module.momentum,
            affine=module.affine,
            track_running_stats=module.track_running_stats,
        )
        new._parameters, new._buffers = module._parameters, module._buffers
        return new.train(module.training)
    for name, child in module.named_children():
        setattr(module, name, _converted(comm, child, kind))
    return module
