"""torch.nn.SyncBatchNorm over gloo. Its communication runs as it is; its five kernels exist for GPUs only, so that
torch's definitions of them are written here in plain operations, in place of the missing ones for the CPU."""

import torch
from torch.nn.modules._functions import SyncBatchNorm

from . import oracle

LIBRARY = torch.library.Library("aten", "IMPL", "CPU")


def kernel(function):
    """Register the function as torch's kernel of that name for the CPU."""
    LIBRARY.impl(function.__name__, function)
    return function


def dims(x):
    return [d for d in range(x.dim()) if d != 1]


def wide(values, x):
    return values.view([1, -1] + [1] * (x.dim() - 2))


@kernel
def batch_norm_stats(input, eps):
    variance, mean = torch.var_mean(input, dims(input), correction=0)
    return mean, (variance + eps).rsqrt()


@kernel
def batch_norm_gather_stats_with_counts(input, mean, invstd, running_mean, running_var, momentum, eps, counts):
    n, counts = counts.sum(), counts[:, None]
    total = (mean * counts).sum(0) / n
    variance = ((invstd**-2 - eps + (mean - total) ** 2) * counts).sum(0) / n
    running_mean.lerp_(total, momentum)
    running_var.lerp_(variance * n / (n - 1), momentum)
    return total, (variance + eps).rsqrt()


@kernel
def batch_norm_elemt(input, weight, bias, mean, invstd, eps):
    return (input - wide(mean, input)) * wide(invstd * weight, input) + wide(bias, input)


@kernel
def batch_norm_backward_reduce(grad_out, input, mean, invstd, weight, input_g, weight_g, bias_g):
    sum_dy = grad_out.sum(dims(input))
    sum_dy_xmu = (grad_out * (input - wide(mean, input))).sum(dims(input))
    return sum_dy, sum_dy_xmu, sum_dy_xmu * invstd, sum_dy.clone()


@kernel
def batch_norm_backward_elemt(grad_out, input, mean, invstd, weight, sum_dy, sum_dy_xmu, count):
    n = count.sum()
    projected = (input - wide(mean, input)) * wide(invstd**2 * sum_dy_xmu / n, input)
    return (grad_out - wide(sum_dy / n, input) - projected) * wide(invstd * weight, input)


@oracle
def sync_batch_norm(rank, ranks):
    """y, dx, dweight, dbias and the running statistics of one pass; rank 1 has no data."""
    from tests.data_parallel.test_batch_norm import numbers, parts, whole_batch

    x, dy = whole_batch()
    mine = parts(x, ranks)[rank].clone().requires_grad_()
    weight, bias = (numbers(x.shape[1], seed=seed).requires_grad_() for seed in (7, 8))
    running = torch.zeros_like(weight), torch.ones_like(weight)
    group = torch.distributed.group.WORLD
    y = SyncBatchNorm.apply(mine, weight, bias, *running, 1e-5, 0.1, group, ranks)
    y.backward(parts(dy, ranks)[rank])
    return y.detach(), mine.grad, [weight.grad, bias.grad], list(running)
