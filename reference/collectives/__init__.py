"""Collectives from point-to-point messages, each with its cost formula beside it."""

from .ring import ring_allgather, ring_allreduce, ring_reduce_scatter, start_ring_allreduce

__all__ = ["ring_allgather", "ring_allreduce", "ring_reduce_scatter", "start_ring_allreduce"]
