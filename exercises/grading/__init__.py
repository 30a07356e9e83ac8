"""How exercises are graded.

A grader (exercises/test_chNN_topic.py) declares one Exercise for each function of the student's file beside it: which
inputs to try, and a list of checks. The rest is here, a module a job:

    student.py      what the student's file says, read without running it: to do, begun, or not Python
    sandbox.py      a forked child with limits on time, memory and output, which sends back what it found
    keeper.py       a process between grader and child, which ends all that the child has started
    records.py      what comes from a child, each record checked: none is believed
    play.py         runs the function on one case, on the virtual cluster or on real ranks
    real.py         the process that owns the job of real ranks, for --mpi
    plain.py        results as plain data, so that nothing of the student's is ever unpickled by the grader
    grade.py        one exercise from file to verdict
    checks.py       ready-made checks; each finding says what was seen and hints at the mistake
    values.py       those of arrays that are returned: NaN, infinity, other shapes and types are findings
    numbers.py      that of one number, without NumPy
    returns.py      the check of results of any kind, with those that known mistakes lead to
    sums.py         the check of a sum over ranks, which tells from a wrong one whose parts are in it
    copies.py       the check of results that are other ranks' data, which tells whose piece stands where
    choices.py      the checks of answers that choose statements or names
    inputs.py       fresh random inputs
    endings.py      explains crashes, hangs, deadlocks and exceptions, in the student's own lines
    raised.py       hints for exceptions
    report.py       what the student sees
    sections.py     the section of the book that explains an exercise
    in_page.py      grades an exercise of level 1 in a page of the book, in the reader's browser
    page.py         what such a page shows: the text of the exercises, fields, inputs
    __main__.py     grades the files of a whole class: python -m exercises.grading --help
    mutants.py      a solution with one small mistake after another, to grade the graders
    contract.py     what holds in every exercise: arguments are kept, results have memory of their own
    spoilers.py     a solution that breaks what every answer keeps to (sends too much, float32, few elements only)
    wrong.py        wrong answers that people give, as edits of a solution
    new.py          the skeleton of a new exercise: python -m exercises.grading new --help

CONTRIBUTING.md says how to add one. `pytest tests/exercises` grades the graders.

What holds, whatever a student's code returns, raises, prints, changes in memory or writes into its pipe:

- The verdict comes from checks in another process. Solved means that every input was answered and every answer judged.
- No code of the student's runs in the grader's process. What comes back is read as JSON, with a limit on its length.
  With --mpi, a process of its own unpickles what real ranks return.
- The grading goes on, and a class has its rows on disk one by one.
- On Linux, processes that the code has started end with the grade (those of real ranks, with the session). Python's own
  ways to start one are refused: those that raise an audit event, and multiprocessing. Others are only cleaned up.

What does not hold:

- Where an answer comes from. Code can look up the solution on this disk, or send right answers without computing them
  and claim fewer messages and bytes than it has used, because it shares a process with the virtual cluster that counts
  them. A reader finds that out.
- Against code that means harm. It runs as the user who grades, so by the system's own means (ctypes, /proc, ptrace) it
  can end the grader and the keeper, leave processes behind, and change files, the grader's memory, and grades. Grade in
  a container what you would not run; it protects the machine, and not the grades that are made inside.
- Limits on real ranks: there are none on memory, and there they may start processes.
"""

from .exercise import Answer, Case, Distributed, Exercise, Finding

__all__ = ["Answer", "Case", "Distributed", "Exercise", "Finding"]
