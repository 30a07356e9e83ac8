"""mpirun -n 2 python beside_ddp.py    The same step with this course's Replica over MPI and with DDP over gloo."""

import tempfile

import torch
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

from reference import mpi
from reference.collectives import allreduce
from reference.data_parallel.replica import Replica
from reference.models import GPT, Config, batch, loss_sum, text
from reference.perf.measure import measure

SMALL = Config(length=64, width=128, heads=4, layers=2)


def programs(comm):
    mine = batch(text(64), 8, 0, rank=comm.rank, ranks=comm.size)
    alone = [dist.new_group([rank]) for rank in range(comm.size)][comm.rank]

    def with_replica(group):
        replica = Replica(group, GPT(SMALL))
        return lambda: replica.backward(*loss_sum(replica.module, mine))

    def with_torch(module):
        def step():
            module.zero_grad()
            total, count = loss_sum(module, mine)
            (total / count).backward()

        return step

    bare, flat = (
        GPT(SMALL),
        torch.zeros(sum(p.numel() for p in GPT(SMALL).parameters())),
    )
    return {
        "no communication": with_torch(bare),
        "replica, one rank": with_replica(comm.Split(comm.rank)),
        "replica": with_replica(comm),
        "DDP, one rank": with_torch(
            DistributedDataParallel(GPT(SMALL), process_group=alone)
        ),
        "DDP": with_torch(DistributedDataParallel(GPT(SMALL))),
        "all-reduce alone": lambda: allreduce(comm, flat),
    }


def main():
    torch.set_num_threads(1)
    comm = mpi.world()
    store = comm.bcast(tempfile.mkdtemp() if comm.rank == 0 else None)
    where = {
        "init_method": f"file://{store}/store",
        "rank": comm.rank,
        "world_size": comm.size,
    }
    dist.init_process_group("gloo", **where)
    asked = programs(comm)
    spreads = dict(zip(asked, measure(comm, list(asked.values()), 5), strict=True))
    if comm.rank == 0:
        print(f"{'milliseconds':>17}  median  quartiles     /DDP")
        for name, (low, median, high) in spreads.items():
            row = f"{name:>17}  {median * 1e3:6.1f}  {low * 1e3:5.1f} to {high * 1e3:5.1f}"
            print(f"{row}  {median / spreads['DDP'].median:5.2f}")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
