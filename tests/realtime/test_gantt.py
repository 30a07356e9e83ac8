"""Gantt charts show the slices of the run, and nothing else."""

import matplotlib

matplotlib.use("agg")

from reference.realtime import simulate
from reference.realtime.gantt import draw, text

from .sets import table

THREE = table("a 1 4\nb 2 6\nc 3 8")


def test_text_of_a_late_job():
    picture = text(simulate(THREE), 12).splitlines()
    assert picture[0] == "a |#   #   #   |" and picture[1] == "b |.##   ##    |"
    assert picture[2] == "c |...#.#..!###|" and picture[3] == "  |+----+----+-|"


def test_text_of_two_processors():
    picture = text(simulate(table("a 3 6\nb 3 6"), processors=2), 6).splitlines()
    assert {picture[0], picture[1]} == {"a |000   |", "b |111   |"}


def test_the_figure_has_all_slices():
    run = simulate(THREE)
    axes = draw(run, unit="milliseconds")
    assert len(axes.patches) == len(run.slices)
    drawn = sorted((bar.get_x(), bar.get_x() + bar.get_width()) for bar in axes.patches)
    assert drawn == sorted((piece.start, piece.end) for piece in run.slices)
    red = [line for line in axes.lines if line.get_color() == "red"]
    assert len(red) == len([job for job in run.missed() if job.finish <= run.end]) > 0
    assert axes.get_xlabel() == "time (milliseconds)" and len(axes.get_yticklabels()) == 3
