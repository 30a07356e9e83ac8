"""How to size a pipeline: profiles, where to cut, how many micro-batches, what to recompute."""
