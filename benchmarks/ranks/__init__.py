"""Programs of the ranks that benchmarks start, and how jobs of them take turns."""
