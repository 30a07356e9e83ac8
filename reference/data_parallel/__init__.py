"""Synchronous data parallelism: P copies of a model, each with its part of the batch, learn as one.

    from reference.data_parallel import Replica, replicate
    replicate.broadcast_parameters(comm, model)  # the same weights on every rank
    replica = Replica(comm, model)
    replica.backward(*loss_sum(model, mine))  # mine: this rank's part of the batch
    optimizer.step()  # the same step on every rank

The four lines that it comes down to are in average.py; everything else is about time (buckets, replica, priority),
memory (accumulation), statistics (batch_norm, learning_rate, noise_scale) and limits (step_time, stragglers, scaling).
"""

from . import replicate
from .accumulation import accumulate
from .average import average_gradients
from .buckets import assign_buckets
from .replica import Replica

__all__ = ["Replica", "accumulate", "assign_buckets", "average_gradients", "replicate"]
