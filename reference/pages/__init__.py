"""What a reader can use in a page: an all-reduce step by step, and an explorer of pipeline schedules."""
