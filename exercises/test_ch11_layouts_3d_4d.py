"""Grades exercises/ch11_layouts_3d_4d.py. An exercise is a function of that name, tried on fresh inputs; the first
check that finds something wrong gives the hint. The graders are in graders/ch11_layouts_3d_4d/, a module a level."""

from exercises.graders.ch11_layouts_3d_4d import fill_in, predict, repair, speed_up, write

elements_sent = predict.elements_sent
fullest_rank = predict.fullest_rank
seconds_saved = predict.seconds_saved

samples_of_rank = fill_in.samples_of_rank

group_of = write.group_of
global_norm = write.global_norm
roll_call = write.roll_call
plan_layout = write.plan_layout
new_shares = write.new_shares

best_layout = repair.best_layout

few_evaluations = speed_up.few_evaluations
