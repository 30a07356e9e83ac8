"""Offloading: no deadline is lost with the cloud, and energy is saved only where it pays."""

import numpy as np
import pytest

from reference.realtime.offload import FAILURES, PAUSE, LossyLink, OffloadJob, offloaded, pays


@pytest.fixture
def answers():
    return LossyLink().answers(2000, np.random.default_rng(1))


def test_a_lossy_link_costs_no_deadline_and_saves_energy(answers):
    job = OffloadJob()
    assert np.isinf(answers).any(), "some are lost"
    record = offloaded(job, answers, chance=0.9)
    assert record.done.max() <= job.deadline
    assert record.energy < 0.5 * len(answers) * job.own_energy
    assert (record.used <= record.asked).all()
    assert record.done[record.used].max() <= job.patience, "later the car has begun by itself"


def test_without_the_cars_own_answer_lost_messages_would_be_missed_deadlines(answers):
    assert (answers > OffloadJob().deadline).mean() > 0.01


def test_a_cloud_that_is_gone_costs_few_requests_and_no_deadline(answers):
    answers[500:1000] = np.inf
    record = offloaded(OffloadJob(), answers, chance=0.9)
    assert record.done.max() <= OffloadJob().deadline
    assert record.asked[500:1000].sum() <= FAILURES * (500 // (FAILURES + PAUSE) + 1)
    assert record.used[1000 + PAUSE :].mean() > 0.8, "it comes back"


def test_three_failures_in_a_row_end_the_asking_for_twenty_requests():
    record = offloaded(OffloadJob(), np.array([np.inf, np.inf, 45.0, *[np.inf] * 47]), chance=0.9)
    assert np.flatnonzero(record.asked).tolist() == [0, 1, 2, 3, 4, 5, 26, 27, 28, 49], "an answer in between counts"


@pytest.mark.parametrize("patience", [30.0, 40.0, 47.0, 60.0, 100.0])
def test_the_chance_of_an_answer_in_time_is_the_share_of_those_that_are(patience):
    link = LossyLink()
    share = np.mean(link.answers(100_000, np.random.default_rng(2)) <= patience)
    assert link.in_time(patience) == pytest.approx(share, abs=0.005)


def test_nobody_asks_where_it_does_not_pay(answers):
    job = OffloadJob(radio_energy=1.4)
    assert pays(job, 0.95) and not pays(job, 0.9)
    record = offloaded(job, answers, chance=0.9)
    assert not record.asked.any() and record.energy == pytest.approx(len(answers) * job.own_energy)


def test_a_car_that_is_too_slow_by_itself_is_refused(answers):
    with pytest.raises(ValueError, match="the car itself takes 120 ms, and the deadline is 100"):
        offloaded(OffloadJob(own_time=120), answers, chance=0.9)
