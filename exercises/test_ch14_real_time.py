"""Grades exercises/ch14_real_time.py. An exercise is a function of that name, tried on fresh inputs; the first
check that finds something wrong gives the hint. The graders are in graders/ch14_real_time/, a module a level."""

from exercises.graders.ch14_real_time import fill_in, predict, repair, speed_up, write

which_proof = predict.which_proof
late_or_wrong = predict.late_or_wrong

priorities_of_kernels = fill_in.priorities_of_kernels

worst_response = write.worst_response
too_much_demand = write.too_much_demand
oldest_data = write.oldest_data
room_for_execution = write.room_for_execution

who_runs = repair.who_runs

shed_load = speed_up.shed_load
