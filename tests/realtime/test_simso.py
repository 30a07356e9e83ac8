"""The same sets in SimSo (recorded): every job has the same response time, on one processor and on two."""

import json

import pytest

from reference.realtime import simulate

from .simso_responses import RECORD, UNTIL, cases

FOUND = json.loads(RECORD.read_text())


@pytest.mark.parametrize("number", range(len(FOUND)))
def test_every_job_responds_as_in_simso(number):
    policy, processors, tasks = cases()[number]
    run = simulate(tasks, policy, processors=processors, until=UNTIL, drain=False)
    ours = {task.name: [job.response for job in run.of(task.name) if job.finish is not None] for task in tasks}
    theirs = FOUND[number]
    assert {name: row[: len(theirs[name])] for name, row in ours.items()} == theirs
    assert all(len(row) - len(theirs[name]) <= 1 for name, row in ours.items())  # one that ends at the very end
    assert sum(map(len, theirs.values())) > 30


def test_the_record_is_complete():
    assert len(FOUND) == len(cases()) > 30
