"""Memory tiers: memories below the accelerator's own, larger and slower, and what carries tensors to and from them.

engine.py is something that works beside a rank, and waiting for it on the rank's clock; tier.py a tier as data, and the
copy engines that serve it; blocks.py writes one tensor into one file, whole or not at all, and flush.py has it on
the drive; files.py makes a tier of such files, with a state that changes as a whole.
"""

from .engine import Engine, Job, Record
from .files import FileTier
from .tier import TIERS, CopyEngines, Tier, tier

__all__ = ["TIERS", "CopyEngines", "Engine", "FileTier", "Job", "Record", "Tier", "tier"]
