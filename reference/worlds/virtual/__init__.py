"""The virtual cluster: ranks as threads of one process, a clock for each, and every message on a simulated network."""
