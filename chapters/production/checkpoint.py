"""torchrun --nproc-per-node 4 --max-restarts 3 checkpoint.py FOLDER    (or with python: 2 ranks)"""

import os
import sys
import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp
from torch import nn
from torch.distributed.checkpoint.state_dict import get_state_dict, set_state_dict
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing import start_processes

STEPS, EVERY, BATCH, RATE = 20, 4, 48, 0.02


def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 1))


def share(step, rank=0, ranks=1):  # the step alone says which samples these are
    x = torch.randn(BATCH, 8, generator=torch.Generator().manual_seed(step))[
        rank::ranks
    ]
    return x, x.sum(1, keepdim=True).tanh()


class Training:  # what DCP asks for its state, and gives it back
    def __init__(self):
        self.model, self.done = build(), 0
        fully_shard(self.model)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=RATE)

    def state_dict(self):
        model, optimizer = get_state_dict(self.model, self.optimizer)
        return {"model": model, "optimizer": optimizer, "done": self.done}

    def load_state_dict(self, state):
        set_state_dict(
            self.model,
            self.optimizer,
            model_state_dict=state["model"],
            optim_state_dict=state["optimizer"],
        )
        self.done = state["done"]


def main(rank=-1, ranks=-1, where="env://"):  # -1: torchrun tells
    dist.init_process_group("gloo", where, rank=rank, world_size=ranks)
    rank, ranks, folder = dist.get_rank(), dist.get_world_size(), Path(sys.argv[1])
    training, saving = Training(), None
    background = dist.new_group(
        backend="gloo"
    )  # the saving thread may not share the training's
    complete = sorted(folder.glob("step_*/.metadata"))  # written last
    if complete:
        dcp.load({"training": training}, checkpoint_id=complete[-1].parent)
    print(f"rank {rank} of {ranks} begins at step {training.done}")
    while training.done < STEPS:
        x, y = share(training.done, rank, ranks)
        nn.functional.mse_loss(training.model(x), y).backward()
        training.optimizer.step()
        training.optimizer.zero_grad()
        training.done += 1
        if training.done % EVERY == 0:
            if saving:
                saving.result()  # the last one is on the disk, or failed
            name = folder / f"step_{training.done:06}"  # a new folder each time
            saving = dcp.async_save(
                {"training": training}, checkpoint_id=name, process_group=background
            )
    saving and saving.result()
    dist.destroy_process_group()


if __name__ == "__main__":
    if "RANK" in os.environ:
        main()
    else:
        meet = f"file://{tempfile.mkdtemp()}/meet"
        start_processes(main, (2, meet), nprocs=2, start_method="fork")
