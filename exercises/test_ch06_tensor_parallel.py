"""Grades exercises/ch06_tensor_parallel.py. An exercise is a function of that name, tried on fresh inputs; the first
check that finds something wrong gives the hint. The graders are in graders/ch06_tensor_parallel/, a module a level."""

from exercises.graders.ch06_tensor_parallel import fill_in, predict, repair, speed_up, write

bytes_of_a_layer = predict.bytes_of_a_layer
where_the_all_reduces_go = predict.where_the_all_reduces_go
which_way_to_cut = predict.which_way_to_cut

column_linear = fill_in.column_linear
row_linear = fill_in.row_linear

heads_of_rank = write.heads_of_rank
sharded_cross_entropy = write.sharded_cross_entropy
gradient_norm = write.gradient_norm

bias_once = repair.bias_once

tensor_degree = speed_up.tensor_degree
gather_while_multiplying = speed_up.gather_while_multiplying
