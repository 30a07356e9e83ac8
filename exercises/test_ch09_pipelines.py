"""Grades exercises/ch09_pipelines.py. An exercise is a function of that name, tried on fresh inputs; the first check
that finds something wrong gives the hint. The graders are in graders/ch09_pipelines/, a module a level."""
