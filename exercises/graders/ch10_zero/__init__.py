"""Graders of chapter 10: ZeRO and fully sharded data parallelism."""
