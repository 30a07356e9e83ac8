"""Grades exercises/ch01_collectives.py. An exercise is a function of that name, tried on fresh inputs; the first check
that finds something wrong gives the hint. The graders are in graders/ch01_collectives/, a module a level."""

from exercises.graders.ch01_collectives import fill_in, predict, queues, repair, speed_up, write

ring_time = predict.ring_time
seven_seconds = predict.seven_seconds
bus_bandwidth = predict.bus_bandwidth
crossover = predict.crossover
which_collective = predict.which_collective
hierarchical_time = predict.hierarchical_time
follow_the_sum = predict.follow_the_sum

ring_allgather = fill_in.ring_allgather

ring_reduce_scatter = write.ring_reduce_scatter
ring_allreduce = write.ring_allreduce
binomial_broadcast = write.binomial_broadcast
recursive_doubling = write.recursive_doubling
pairwise_alltoall = write.pairwise_alltoall
urgent_first = queues.urgent_first

shift_right = repair.shift_right
stop_together = repair.stop_together
sum_of_my_row = repair.sum_of_my_row

allreduce_together = speed_up.allreduce_together
ring_order = speed_up.ring_order
hierarchical_allreduce = speed_up.hierarchical_allreduce
widest_path = speed_up.widest_path
