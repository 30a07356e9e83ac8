"""Checkpoints: the state of a training in files, saved by all ranks, loaded by any others, whole or not there at all.

    from reference.checkpoint import at, load, save
    path = save(comm, "run", step, {"w": at(shard, (64, 8), (16 * comm.rank, 0))}, extra={"rate": 0.1})
    loaded = load(comm, "run", {"w": at(shard, (64, 8), (16 * comm.rank, 0))})

boxes.py says what a rank holds of a tensor; head.py and manifest.py what the files are; save.py and load.py use them,
with retention.py; files.py is the file system. training_state.py makes such portions of a model, of its optimizer and
of all else that decides about the next step; placed.py says where a layout's parameters belong.
"""

from .boxes import Box, Portion, at, everything, flat_range
from .load import Loaded, load
from .manifest import CheckpointError, Manifest, committed, newest, read_manifest
from .retention import keep
from .save import Saving, save
from .training_state import TrainingState

__all__ = [
    "Box",
    "CheckpointError",
    "Loaded",
    "Manifest",
    "Portion",
    "Saving",
    "TrainingState",
    "at",
    "committed",
    "everything",
    "flat_range",
    "keep",
    "load",
    "newest",
    "read_manifest",
    "save",
]
