"""Grades exercises/ch12_memory_tiers.py. An exercise is a function of that name, tried on fresh inputs; the first
check that finds something wrong gives the hint. The graders are in graders/ch12_memory_tiers/, a module a level."""

from exercises.graders.ch12_memory_tiers import fill_in, predict, repair, speed_up, write

peak_bytes = predict.peak_bytes
best_k = predict.best_k
keep_move_or_again = predict.keep_move_or_again
speedup_with_codec = predict.speedup_with_codec
bytes_in_tier = predict.bytes_in_tier

which_to_recompute = fill_in.which_to_recompute

checkpointed_step = write.checkpointed_step
cut_chain = write.cut_chain
evictions = write.evictions

prefetch_starts = repair.prefetch_starts
fair_shares = repair.fair_shares

reverse_with_slots = speed_up.reverse_with_slots
