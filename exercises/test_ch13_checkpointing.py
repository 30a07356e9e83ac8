"""Grades exercises/ch13_checkpointing.py. An exercise is a function of that name, tried on fresh inputs; the first
check that finds something wrong gives the hint. The graders are in graders/ch13_checkpointing/, a module a level."""

from exercises.graders.ch13_checkpointing import fill_in, predict, repair, speed_up, write

hours_of_a_week = predict.hours_of_a_week
keeps_running = predict.keeps_running

shrink_and_go_on = fill_in.shrink_and_go_on

best_interval = write.best_interval
byte_ranges = write.byte_ranges
phi = write.phi
vote = write.vote
elastic_samples = write.elastic_samples

save_atomically = repair.save_atomically
save_changes = repair.save_changes
commit_index = repair.commit_index

rebuild = speed_up.rebuild
