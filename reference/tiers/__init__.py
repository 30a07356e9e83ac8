"""Memory tiers: memories below the accelerator's own, larger and slower, and what carries tensors to and from them.

engine.py is something that works beside a rank, and waiting for it on the rank's clock; tier.py a tier as data, and the
copy engines that serve it; blocks.py writes one tensor into one file, whole or not at all, with checksums
(checksum.py), by io_uring (uring.py) or by threads as format.py says, from memory that buffers.py gives; flush.py has
it on the drive. files.py makes a tier of such files, with a state that changes as a whole.

storages.py and http_store.py keep bytes in the host's memory, in files and in an object store; store.py moves tensors
between them and an accelerator whose bytes budget.py counts; saved_tensors.py has autograd's tensors there, and
overlap.py says how long that takes. hierarchy.py has published latencies and bandwidths; `python -m reference.tiers`
measures those of this machine (measure.py, chase.py).
"""

from .budget import OverBudget
from .engine import Engine, Job, Record
from .files import FileTier
from .http_store import HttpStorage, StoreServer
from .saved_tensors import OffloadedActivations
from .storages import FolderStorage, HostStorage
from .store import TieredStore, lowest_budget
from .stored import StoreTier
from .tier import TIERS, CopyEngines, Tier, tier

__all__ = [
    "TIERS",
    "CopyEngines",
    "Engine",
    "FileTier",
    "FolderStorage",
    "HostStorage",
    "HttpStorage",
    "Job",
    "OffloadedActivations",
    "OverBudget",
    "Record",
    "StoreServer",
    "StoreTier",
    "Tier",
    "TieredStore",
    "lowest_budget",
    "tier",
]
