"""What a program gives to a call on real ranks is read before anything is sent: as the virtual cluster reads it.

mpi4py trusts counts and displacements: one that goes past the memory would read or write what is not the program's.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ... import mpi
from ..buffers import as_buffer, as_vector

# what a collective call's buffers are: m one message, b a block for each rank, v a v-call's; capitals at the root only
MEANS = {
    "Bcast": "m", "Reduce": "mM", "Allreduce": "mm", "Reduce_scatter_block": "bm", "Reduce_scatter": "mm",
    "Gather": "mB", "Gatherv": "mV", "Scatter": "Bm", "Scatterv": "Vm", "Allgather": "mb", "Allgatherv": "mv",
    "Alltoall": "bb", "Alltoallv": "vv",
}  # fmt: skip
MEANS.update({f"I{name.lower()}": means for name, means in MEANS.items()})


def sent_bytes(spec: Any, peer: int, writable: bool = False) -> int:
    """Bytes of a message; the exceptions of as_buffer for what is wrong with it. To PROC_NULL nothing is sent."""
    if peer == mpi.PROC_NULL:
        return 0
    return spec.nbytes if type(spec) is np.ndarray else as_buffer(spec, writable).raw.size


def check_collective(name: str, comm: Any, args: tuple, kwargs: dict[str, Any]) -> None:
    """The exceptions of as_buffer and as_vector for the lists among the arguments of a collective call."""
    if name not in MEANS or not any(type(value) in (list, tuple) for value in (*args, *kwargs.values())):
        return
    root = kwargs.get("root", next((value for value in args[2:] if hasattr(value, "__index__")), 0))
    keys = ("sendbuf", "recvbuf") if len(MEANS[name]) == 2 else ("buf",)
    for key, spec, means in zip(keys, (*args, None, None), MEANS[name]):
        spec = kwargs.get(key, spec)
        everywhere = means.islower()
        if type(spec) in (list, tuple) and (everywhere or comm.rank == root):
            if means in "vV":
                as_vector(spec, comm.size, writable=key == "recvbuf")
            else:
                as_buffer(spec, key == "recvbuf", comm.size if means in "bB" else 1)
