"""Synchronous data parallelism: P copies of a model, each with its part of the batch, learn as one."""
