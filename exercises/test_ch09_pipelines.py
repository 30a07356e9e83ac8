"""Grades exercises/ch09_pipelines.py. An exercise is a function of that name, tried on fresh inputs; the first check
that finds something wrong gives the hint. The graders are in graders/ch09_pipelines/, a module a level."""

from exercises.graders.ch09_pipelines import fill_in, predict, repair, speed_up, write

bubble_share = predict.bubble_share
least_micro_batches = predict.least_micro_batches
activations_kept = predict.activations_kept
which_schedule = predict.which_schedule
tp_or_pp = predict.tp_or_pp

stage_order = fill_in.stage_order
when_it_ends = fill_in.when_it_ends
messages_of = fill_in.messages_of

gpipe_order = write.gpipe_order
interleaved_order = write.interleaved_order
first_wrong_action = write.first_wrong_action
partition = write.partition
split_backward = write.split_backward
weight_stash = write.weight_stash

blocking_both_ways = repair.blocking_both_ways
mean_over_micro_batches = repair.mean_over_micro_batches

choose_micro_batches = speed_up.choose_micro_batches
fill_the_bubble = speed_up.fill_the_bubble
