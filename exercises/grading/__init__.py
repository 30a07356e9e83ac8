"""How exercises are graded.

A grader (exercises/test_chNN_topic.py) declares one Exercise for each function of the student's file beside it: which
inputs to try, and a list of checks. The rest is here, a module a job:

    student.py      what the student's file says, read without running it: to do, begun, or not Python
    sandbox.py      a forked child with limits on time, memory and output, which sends back what it found
    play.py         runs the function on one case, on the virtual cluster or on real ranks
    plain.py        results as plain data, so that nothing of the student's is ever unpickled by the grader
    grade.py        one exercise from file to verdict
    checks.py       ready-made checks; each finding says what was seen and hints at the mistake
    sums.py         the check of a sum over ranks, which tells from a wrong one whose parts are in it
    copies.py       the check of results that are other ranks' data, which tells whose piece stands where
    choices.py      the checks of answers that choose statements or names
    inputs.py       fresh random inputs
    endings.py      explains crashes, hangs, deadlocks and exceptions, in the student's own lines
    report.py       what the student sees
    __main__.py     grades the files of a whole class: python -m exercises.grading --help
    mutants.py      a solution with one small mistake after another, to grade the graders

To add an exercise: its stub in exercises/chNN_topic.py; an Exercise (or Distributed, if it takes a communicator) of the
same name in test_chNN_topic.py (where there are many, in graders/chNN_topic/, and listed there); two solutions whose
docstrings say why, solutions/chNN_topic.py and chNN_topic_again.py; and in misconceptions/chNN_topic/NAME/ the wrong
answers that people give, each with `EARNS`, words of the hint that it must get. `pytest tests/exercises` then grades
the grader.

All this keeps honest work honest. It is no wall: code that is out to deceive shares a process with the virtual cluster
that counts its messages. `--mpi` and a reader find that out.
"""

from .exercise import Answer, Case, Distributed, Exercise, Finding

__all__ = ["Answer", "Case", "Distributed", "Exercise", "Finding"]
