"""Collects all blocks everywhere and picks one."""

import numpy as np

EARNS = "Allgather does the whole job"


def shift_right(comm, block):
    blocks = np.empty((comm.size, block.size))
    comm.Allgather(block, blocks)
    return blocks[comm.rank - 1].copy()
