"""Grades exercises/ch10_zero.py. An exercise is a function of that name, tried on fresh inputs; the first check that
finds something wrong gives the hint. The graders are in graders/ch10_zero/, a module a level."""

from exercises.graders.ch10_zero import fill_in, predict, repair, speed_up, write

memory_by_hand = predict.memory_by_hand
bytes_of_a_step = predict.bytes_of_a_step
which_stage = predict.which_stage

sharded_adam = fill_in.sharded_adam

rows_of_rank = write.rows_of_rank
reduce_in_buckets = write.reduce_in_buckets
gather_and_free = write.gather_and_free

clip_by_global_norm = repair.clip_by_global_norm

prefetch_units = speed_up.prefetch_units
which_to_keep = speed_up.which_to_keep
offload_schedule = speed_up.offload_schedule
