"""Grades exercises/ch02_data_parallel.py. An exercise is a function of that name, tried on fresh inputs; the first
check that finds something wrong gives the hint. The graders are in graders/ch02_data_parallel/, a module a level."""

from exercises.graders.ch02_data_parallel import fill_in, predict, repair, speed_up, write

step_time = predict.step_time
replica_price = predict.replica_price
gains_of_accumulation = predict.gains_of_accumulation
which_rate = predict.which_rate

average_gradients = fill_in.average_gradients
my_share = fill_in.my_share

assign_buckets = write.assign_buckets
backward_with_overlap = write.backward_with_overlap
accumulate = write.accumulate
batch_statistics = write.batch_statistics

replicas_that_agree = repair.replicas_that_agree
same_order = repair.same_order

bucket_limit = speed_up.bucket_limit
shares = speed_up.shares
