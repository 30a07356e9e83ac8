"""Grades exercises/ch07_sequence_and_context.py. An exercise is a function of that name, tried on fresh inputs; the
first check that finds something wrong gives the hint. The graders are in graders/ch07_sequence_and_context/, a module a
level."""

from exercises.graders.ch07_sequence_and_context import fill_in, predict, repair, speed_up, write

bytes_of_attention = predict.bytes_of_attention
which_for_which = predict.which_for_which
activation_bytes = predict.activation_bytes

merge_two = fill_in.merge_two
ulysses_reshape = fill_in.ulysses_reshape

blockwise_attention = write.blockwise_attention
zigzag_positions = write.zigzag_positions
ring_attention = write.ring_attention

mask_of_block = repair.mask_of_block

overlap_the_ring = speed_up.overlap_the_ring
