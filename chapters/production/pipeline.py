"""1F1B with torch.distributed.pipelining alone, over gloo on CPUs; for NCCL and devices see the two comments.

torchrun --nproc-per-node 4 chapters/production/pipeline.py
"""

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.pipelining import PipelineStage, Schedule1F1B

WIDTH, LAYERS, BATCH, MICRO_BATCHES = 64, 8, 32, 8


def main() -> None:
    """Train a few steps; the last rank prints the loss."""
    dist.init_process_group("gloo")  # "nccl" on GPUs
    device = torch.device(
        "cpu"
    )  # torch.device("cuda", int(os.environ["LOCAL_RANK"])), and torch.cuda.set_device
    rank, p = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(0)  # all ranks make the same layers, and each keeps its own
    layers = [
        nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh()) for _ in range(LAYERS)
    ]
    own = nn.Sequential(*layers[rank * LAYERS // p : (rank + 1) * LAYERS // p]).to(
        device
    )

    stage = PipelineStage(own, stage_index=rank, num_stages=p, device=device)
    # The gradients are divided by the number of micro-batches (scale_grads), so the loss is a mean.
    schedule = Schedule1F1B(
        stage, n_microbatches=MICRO_BATCHES, loss_fn=nn.functional.mse_loss
    )
    optimizer = torch.optim.SGD(own.parameters(), lr=2.0)

    x, target = (
        torch.randn(BATCH, WIDTH, device=device),
        torch.zeros(BATCH, WIDTH, device=device),
    )
    for step in range(5):
        optimizer.zero_grad()
        losses: list[
            torch.Tensor
        ] = []  # of each micro-batch, on the last rank only
        first = (x,) if stage.is_first else ()
        last = {"target": target, "losses": losses} if stage.is_last else {}
        schedule.step(*first, **last)
        if stage.is_last:
            print(
                f"step {step} loss {torch.stack(losses).mean().item():.6f}",
                flush=True,
            )
        optimizer.step()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
