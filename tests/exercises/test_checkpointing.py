"""What the graders of chapter 13 take for right is what its packages say, or what trying everything finds."""

import itertools

import numpy as np
import pytest

from exercises.graders.ch13_checkpointing import fill_in, predict, repair, write
from exercises.grading import Answer
from exercises.grading.grade import draw
from exercises.solutions import ch13_checkpointing as solutions
from reference.failures import interval, spares
from reference.failures.phi_accrual import PhiAccrual
from tests.exercises.test_graders import SEED

pytestmark = pytest.mark.chapter(number=13)


def arguments(exercise, name):
    """The arguments of all its cases."""
    return [case.arguments[0] for case in draw(exercise, name, SEED)]


def test_hours_of_a_week():
    week = 168, 24, 0, 0.5, 4.4
    hours = {part: predict.hours(part, *week) for part in predict.PARTS}
    assert hours == pytest.approx({"checkpoints": 15.39, "lost work": 17.15, "restarts": 0, "useful work": 135.5}, 1e-3)
    assert sum(hours.values()) == pytest.approx(168)
    rarely = interval.account(10**6, 50, 1, 10**5, 3)  # then two failures in one cycle are rare
    parts = predict.useful, predict.checkpoints, predict.lost, predict.restarts
    assert [part(10**6, 10**5, 3, 1, 50) for part in parts] == pytest.approx(list(rarely[:4]), 2e-3)


def test_how_often_a_job_runs_on():
    for workers, p, days, form, k in arguments(predict.keeps_running, "keeps_running"):
        q = predict.failed(p, days)
        fails = spares.groups_fail(workers // 2, q) if form == "2+1" else spares.pool_fails(workers, k, q)
        assert predict.survives(workers, p, days, form, k) == pytest.approx(1 - fails, rel=1e-10)
    bare, pairs, *pools = (
        predict.survives(2048, 1e-4, 1, *form) for form in (("none", 0), ("2+1", 0), ("pool", 3), ("pool", 4))
    )
    assert pools[0] < pairs < pools[1] and pairs / bare == pytest.approx(1.23, abs=0.005)


def test_the_best_interval():
    for C, R, M in arguments(write.best_interval, "best_interval"):
        assert write.optimum(C, R, M) == pytest.approx(interval.exact(C, M), rel=1e-6)
    T = write.optimum(0.5, 0, 24)
    off = [
        abs(each / T - 1) for each in (interval.young(0.5, 24), interval.daly(0.5, 24), write.higher_order(0.5, 0, 24))
    ]
    assert off == pytest.approx([0.072, 0.038, 0.0002], abs=0.0005)


def test_which_bytes_a_rank_needs():
    for files, itemsize, rows, columns in arguments(write.byte_ranges, "byte_ranges"):
        height, width = (max(sum(each[axis]) for each in files) for axis in (1, 2))
        if height * width > 10**5:
            continue
        matrix = np.arange(height * width).reshape(height, width)
        saved = {file: matrix[r[0] : sum(r), c[0] : sum(c)].ravel() for file, r, c in files}
        found = write.ranges(files, itemsize, rows, columns)
        read = [saved[file][first // itemsize : (first + n) // itemsize] for file, first, n in found]
        wanted = matrix[rows[0] : sum(rows), columns[0] : sum(columns)]
        assert sorted(np.concatenate([np.zeros(0, int), *read])) == sorted(wanted.ravel())
        assert all(a[0] < b[0] or a[1] + a[2] < b[1] for a, b in itertools.pairwise(found))


def test_suspicion():
    compared = 0
    for arrivals, now, window, least in arguments(write.phi, "phi"):
        if len(arrivals) > window:
            detector = PhiAccrual(1.0, window=window, least=least)
            for each in arrivals:
                detector.arrived(each)
            assert write.suspicion(arrivals, now, window, least) == pytest.approx(detector.phi(now), rel=1e-6)
            compared += 1
    assert compared > 3


def test_each_sample_is_read_once():
    for changes, each, n, _, _ in arguments(write.elastic_samples, "elastic_samples")[:8]:
        steps = changes[-1][0] + 4
        read = [
            pair
            for step in range(steps)
            for rank in range(write.at(changes, step))
            for pair in write.elastic(changes, each, n, step, rank)
        ]
        assert read == [list(divmod(i, n)) for i in range(len(read))]


def test_what_is_committed():
    for term, log, matched, commit in arguments(repair.commit_index, "commit_index"):
        most_have = sorted([len(log), *matched], reverse=True)[(len(matched) + 1) // 2]
        own = most_have > commit and log[most_have - 1] == term
        assert repair.committed(term, log, matched, commit) == (most_have if own else commit)


def test_copies_that_go_on():
    case = next(case for case in draw(fill_in.shrink_and_go_on, "shrink_and_go_on", SEED) if case.ranks == 7)
    assert [fill_in.goes_on(case, rank) and fill_in.goes_on(case, rank)[0] for rank in range(7)] == [
        0,
        1,
        2,
        None,
        3,
        4,
        5,
    ]


def done_by(save, case):
    """What a save does to the disk."""
    (disk, manifest, shards, old) = case.arguments[0]
    disk = repair.Disk(old)
    save(disk, manifest, shards, old)
    return list(disk)


def loadable(done, case):
    """Whether a crash after these operations leaves a whole checkpoint, whatever of the rest is kept: all is tried."""
    _, manifest, shards, old = case.arguments[0]
    before = {name: f"text of {name}" for name in old}
    contents, safe = {0: repair.OLD}, {0: True}  # by number of the file
    for number, text in enumerate(before.values(), 1):
        contents[number], safe[number] = text, True
    names = {"manifest": 0, **{name: number for number, name in enumerate(before, 1)}}
    on_disk, pending = dict(names), []
    for what, *words in done:
        if what == "write" and words[0] not in names:
            names[words[0]] = len(contents)
            pending.append({words[0]: len(contents)})
            contents[len(contents)] = ""
        if what == "write":
            contents[names[words[0]]], safe[names[words[0]]] = words[1], False
        elif what == "sync":
            safe[names[words[0]]] = True
        elif what == "rename":
            pending.append({words[1]: names.pop(words[0]), words[0]: None})
            names[words[1]] = pending[-1][words[1]]
        elif what == "remove":
            pending.append({words[0]: None})
            del names[words[0]]
        elif what == "sync_folder":
            on_disk, pending = dict(names), []
    for kept in itertools.product([False, True], repeat=len(pending)):
        found = dict(on_disk)
        for change in itertools.compress(pending, kept):
            found.update(change)
        texts = {name: contents[file] if safe[file] else "torn" for name, file in found.items() if file is not None}
        wanted = {repair.OLD: before, manifest: shards}.get(texts.get("manifest"))
        if wanted is None or any(texts.get(name) != text for name, text in wanted.items()):
            return False
    return True


def test_crashes_are_judged_as_if_all_of_them_were_tried():
    judged = []
    for case in draw(repair.save_atomically, "save_atomically", SEED)[:3]:
        whole = done_by(solutions.save_atomically, case)
        orders = [whole, *(whole[:i] + whole[i + 1 :] for i in range(len(whole)))]
        orders += [[*whole[:i], whole[i + 1], whole[i], *whole[i + 2 :]] for i in range(len(whole) - 1)]
        for done in orders:
            try:
                fine = all(loadable(done[:n], case) for n in range(len(done) + 1))
            except KeyError:  # something is done to a file that is not there
                continue
            finding = repair.survived(case, Answer([None], [(done,)], [False]))
            assert fine == (finding is None or "may lose both" not in finding.seen), done
            judged.append(fine)
    assert 10 < sum(judged) < len(judged) - 10
