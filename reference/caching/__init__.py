"""Caching: which tensors stay in the fast memory, which leave, and when those that left must be on their way back.

policies.py decides who leaves: by the past (LRU, LFU, LRU-K, ARC) or by the future (Belady), which a training knows.
replay.py runs a trace of accesses through a policy: hits, bytes, seconds; optimum.py searches for the fewest bytes
there can be; traces.py records such traces from a training step and from a router of experts, and has one of a chat
service. markov.py guesses what comes next. deadlines.py schedules transfers backwards from when they are needed,
sharing.py divides a link among jobs, compressed.py says when fewer bytes are faster, and budget.py what a model of any
size needs, and where it fits.

Nothing is imported here: budget.py needs neither torch nor NumPy, for a page of the book asks it in the browser.
"""
