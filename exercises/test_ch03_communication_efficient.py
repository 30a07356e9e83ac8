"""Grades exercises/ch03_communication_efficient.py. An exercise is a function of that name, tried on fresh inputs; the
first check that finds something wrong gives the hint. The graders are in graders/ch03_communication_efficient/, a
module a level."""

from exercises.graders.ch03_communication_efficient import fill_in, predict, repair, speed_up, write

compression_speedup = predict.compression_speedup
top_k_bytes = predict.top_k_bytes
who_is_unbiased = predict.who_is_unbiased
how_late = predict.how_late

stochastic_round = fill_in.stochastic_round
error_feedback = fill_in.error_feedback

top_k_sum = write.top_k_sum
one_bit_sum = write.one_bit_sum
local_sgd = write.local_sgd
gossip_step = write.gossip_step
bounded_staleness = write.bounded_staleness

slow_momentum = repair.slow_momentum
delay_compensated = repair.delay_compensated

how_many_to_send = speed_up.how_many_to_send
