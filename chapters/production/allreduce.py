"""The same all-reduce in four ways, with torch alone.

    torchrun --nproc-per-node 4 chapters/production/allreduce.py 2

The argument is the number of ranks that play one node. On GPUs: backend "nccl", `torch.cuda.set_device(local_rank)`,
tensors and mesh on "cuda".
"""

import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh


def in_one_call(x):
    dist.all_reduce(x)  # in place; sums unless told otherwise


def in_two_halves(x):
    part = x.new_empty(x.numel() // dist.get_world_size())
    dist.reduce_scatter_single(part, x)  # reduce_scatter_tensor before torch 2.13
    dist.all_gather_single(x, part)  # all_gather_into_tensor before torch 2.13


def behind_a_computation(x):
    work = dist.all_reduce(
        x, async_op=True
    )  # returns at once; leave x alone until wait()
    torch.ones(64, 64) @ torch.ones(64, 64)
    work.wait()


def by_levels(x, ranks_per_node):
    shape = dist.get_world_size() // ranks_per_node, ranks_per_node
    mesh = init_device_mesh("cpu", shape, mesh_dim_names=("across", "inside"))
    inside, across = mesh.get_group("inside"), mesh.get_group("across")
    part = x.new_empty(x.numel() // ranks_per_node)
    dist.reduce_scatter_single(part, x, group=inside)
    dist.all_reduce(part, group=across)
    dist.all_gather_single(x, part, group=inside)


def main(ranks_per_node=2):
    dist.init_process_group("gloo")  # rank and address from torchrun's environment
    rank, ranks = dist.get_rank(), dist.get_world_size()
    for way in (in_one_call, in_two_halves, behind_a_computation, by_levels):
        x = torch.arange(8.0 * ranks) * (
            rank + 1
        )  # whole numbers: every order of adding gives the same bits
        way(x, ranks_per_node) if way is by_levels else way(x)
        assert torch.equal(x, torch.arange(8.0 * ranks) * (ranks * (ranks + 1) / 2))
        if rank == 0:
            print(f"{way.__name__}: right on {ranks} ranks", flush=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
