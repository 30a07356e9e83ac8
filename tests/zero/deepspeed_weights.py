"""DeepSpeed's ZeRO, recorded: what its three stages make of our model over gloo, without a GPU.

    python -m tests.zero.deepspeed_weights            # record anew; the first time, or for another version
    python -m tests.zero.deepspeed_weights --check    # train again, and compare with what is recorded

test_deepspeed.py compares our stages with the record, so that the tests need no DeepSpeed. This program installs it
from the package index into a folder that is thrown away; torch and the rest are those of the environment that runs it.

The record has, by "RANKS ranks, stage STAGE, KIND", the weights after STEPS steps (float32, in one vector); by the same
name with " elements", of how many elements each rank has the first moment; and "about", with versions and date.
"""

from __future__ import annotations

import datetime
import json
import os
import platform
import socket
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

VERSION = "0.19.8"
NEEDS = ("einops", "hjson", "msgpack", "ninja", "py-cpuinfo", "pydantic")
RECORD = Path(__file__).parent / "data" / "deepspeed.npz"
STAGES = (1, 2, 3)
KINDS = {  # an optimizer of training.py, and keys of the configuration
    "momentum": ("momentum", {"gradient_clipping": 0.0}),
    "adam": ("adam", {"gradient_clipping": 0.0}),
    "clipped by default": ("momentum", {}),
}
RUNS = {2: ("momentum", "adam", "clipped by default"), 4: ("momentum", "adam")}  # by the number of ranks
SECONDS = 300  # after which a job is ended
CONFIG = {  # of every run; sizes are elements, so small that there are several buckets, and that every weight is cut
    "train_micro_batch_size_per_gpu": 1,  # has to be there, and says nothing: the loss below is divided by hand
    "zero_allow_untested_optimizer": True,
    "zero_optimization": {
        "reduce_bucket_size": 500,
        "allgather_bucket_size": 500,
        "stage3_param_persistence_threshold": 0,  # else weights of up to 100,000 elements stay whole on every rank
        "stage3_prefetch_bucket_size": 200,
        "stage3_max_live_parameters": 1200,
        "stage3_max_reuse_distance": 0,
    },
}


def name(ranks: int, stage: int, kind: str) -> str:
    """Of a run, in the record."""
    return f"{ranks} ranks, stage {stage}, {kind}"


def train_rank(folder: str) -> None:
    """What each process of a job does: its runs, one after the other; rank 0 writes FOLDER/RANKS.npz."""
    import deepspeed
    import torch
    import torch.distributed as dist

    torch.set_num_threads(1)
    # DeepSpeed would compile its shared-memory collectives, which training does not use: over half a minute. Ended
    # meanwhile, it leaves a lock in TORCH_EXTENSIONS_DIR, for which every later process waits without a word.
    deepspeed.ops.__compatible_ops__["deepspeed_shm_comm"] = False
    deepspeed.init_distributed("gloo", auto_mpi_discovery=False)
    rank, ranks, found = dist.get_rank(), dist.get_world_size(), {}
    for stage in STAGES:
        for kind in RUNS[ranks]:
            weights, elements = train(rank, ranks, stage, kind)
            every = [0] * ranks
            dist.all_gather_object(every, elements)
            found[name(ranks, stage, kind)] = weights
            found[f"{name(ranks, stage, kind)} elements"] = np.array(every)
    if rank == 0:
        np.savez(Path(folder) / f"{ranks}.npz", **found)
    dist.barrier()
    dist.destroy_process_group()


def train(rank: int, ranks: int, stage: int, kind: str) -> tuple[np.ndarray, int]:
    """The weights after STEPS steps, and the elements of this rank's first moment."""
    import deepspeed

    from reference.models import batch, loss_sum

    from .training import OPTIMIZERS, SIZE, STEPS, single, weights

    (model, data), (optimizer, keys) = single(), KINDS[kind]
    config = CONFIG | keys | {"zero_optimization": {"stage": stage} | CONFIG["zero_optimization"]}
    built = OPTIMIZERS[optimizer](model.parameters())
    engine, stepper, *_ = deepspeed.initialize(model=model, optimizer=built, config=config)
    for step in range(STEPS):
        total, _ = loss_sum(engine, batch(data, SIZE, step, rank=rank, ranks=ranks))
        engine.backward(total * ranks / len(batch(data, SIZE, step).y))  # DeepSpeed averages over the ranks
        engine.step()
    with deepspeed.zero.GatheredParameters(list(model.parameters()), enabled=stage == 3):
        end = weights(model.parameters()).numpy().copy()
    states = stepper.optimizer.state.values()
    moments = [moment for state in states for key, moment in state.items() if key in ("momentum_buffer", "exp_avg")]
    return end, sum(moment.numel() for moment in moments)


def install(folder: str) -> None:
    """Put DeepSpeed into FOLDER, and of what it needs all that this environment lacks."""
    pip = [sys.executable, "-m", "pip", "install", "-qq", "--disable-pip-version-check", "--target", folder]
    subprocess.run([*pip, *NEEDS], check=True)
    without_ops = os.environ | {"DS_BUILD_OPS": "0", "DS_ACCELERATOR": "cpu"}
    command = [*pip, "--no-deps", "--no-build-isolation", f"deepspeed=={VERSION}"]  # which would install another torch
    subprocess.run(command, check=True, env=without_ops)


def job(ranks: int, folder: str) -> None:
    """Train on so many processes, which meet on this machine. Raises RuntimeError if one fails, or none ends."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    shared = {"WORLD_SIZE": ranks, "LOCAL_SIZE": ranks, "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port}
    shared |= {"DS_ACCELERATOR": "cpu", "OMP_NUM_THREADS": 1, "TORCH_EXTENSIONS_DIR": folder}
    shared |= {"PYTHONPATH": folder, "PYTHONWARNINGS": "ignore"}
    processes = []
    for rank in range(ranks):
        its = os.environ | {key: str(value) for key, value in (shared | {"RANK": rank, "LOCAL_RANK": rank}).items()}
        command = [sys.executable, "-m", __spec__.name, "--rank", folder]
        processes.append(subprocess.Popen(command, env=its, stdout=subprocess.DEVNULL))
    try:
        failed = [rank for rank, process in enumerate(processes) if process.wait(SECONDS)]
    finally:
        for process in processes:
            process.kill()
    if failed:
        raise RuntimeError(f"of {ranks} ranks, {failed} failed: see above")


def record() -> dict[str, np.ndarray]:
    """Install, train, and gather what all jobs have found."""
    found: dict[str, np.ndarray] = {}
    with tempfile.TemporaryDirectory() as folder:
        install(folder)
        for ranks in RUNS:
            job(ranks, folder)
            found |= np.load(Path(folder) / f"{ranks}.npz")
    versions = {each: __import__(each).__version__ for each in ("torch", "numpy")}
    about = {"deepspeed": VERSION, **versions, "python": platform.python_version(), "config": CONFIG}
    return found | {"about": np.array(json.dumps(about | {"date": str(datetime.date.today())}))}


def check(found: dict[str, np.ndarray]) -> int:
    """Print the largest difference of weights from the record; 1 if one is above 1e-5, or other elements are cut."""
    kept, status = np.load(RECORD), 0
    for key in sorted(set(found) - {"about"}):
        apart = float(np.abs(found[key] - kept[key]).max())
        status |= apart > (0 if key.endswith("elements") else 1e-5)
        print(f"{key:45} differs by at most {apart:.1e}")
    return int(status)


def main() -> int:
    """A rank of a job, a check, or a new record."""
    if "--rank" in sys.argv:
        train_rank(sys.argv[-1])
        return 0
    found = record()
    if "--check" in sys.argv:
        return check(found)
    np.savez_compressed(RECORD, **found)
    print(f"{RECORD}: {RECORD.stat().st_size:,} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
