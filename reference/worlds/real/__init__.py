"""The job of real ranks: processes under mpirun that take programs, run them and count what they do."""
