"""Recovery: a rank dies in the middle of a collective, and the others go on with the work.

    from reference.recovery import survive
    result, comm = survive(comm, work)  # work(comm) is begun again on the survivors, until it is done on all of them

Written once over mpi4py's names for ULFM (Revoke, Shrink, Agree, Get_failed). It runs on real ranks under Open MPI
(`mpirun --with-ft ulfm`) and on the virtual cluster (`launch(..., faults=[Kill(...)])`).
"""

from .replicated import train_replicated
from .sharded import train_sharded
from .shrink import TooFew, lost_a_rank, survive, why_not

__all__ = ["TooFew", "lost_a_rank", "survive", "train_replicated", "train_sharded", "why_not"]
