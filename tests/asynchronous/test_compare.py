"""The race: what a slow rank costs each method, on the virtual clock, and the same again."""

from math import inf

import pytest

from reference.asynchronous.compare import METHODS, Contest, Seen, contest, steps_to, time_to
from reference.models import MLP, Objective, digits
from reference.worlds import RankFailed, Slow, launch, networks

WORKERS, TARGET = 4, 1.5
OBJECTIVE = Objective(MLP((64, 16, 10)), digits(train=False), 64)  # 360 samples: quick to look at
NETWORK = networks.uniform(1e-4, 1e-7)


def race(name, factor=4.0, jitter=False, steps=48):
    setting = Contest(OBJECTIVE, steps, 0.5, 1e-2, jitter, period=4, post=4)
    run = launch(contest, WORKERS + 1, name, setting, network=NETWORK, faults=[Slow(WORKERS, factor)])
    return next(filter(None, run.results)), run


@pytest.fixture(scope="module")
def seconds():
    """Time to the target of each method, with a worker that takes four times as long."""
    return {name: time_to(race(name)[0], TARGET) for name in METHODS}


def test_all_of_them_learn(seconds):
    assert len(METHODS) == 12 and all(time < inf for time in seconds.values())


def test_who_waits_for_all_goes_at_the_pace_of_the_slowest(seconds):
    alike = time_to(race("all-reduce", 1.0)[0], TARGET)
    for name in ("all-reduce", "server, synchronous", "local SGD", "gossip"):
        assert seconds[name] > 2.5 * alike
    for name in ("server, asynchronous", "server, damped", "server, compensated", "one-sided", "gossip by pulling"):
        assert seconds[name] < 0.6 * seconds["all-reduce"]


def test_a_bound_helps_against_chance_only(seconds):
    assert seconds["server, bounded"] > 2 * seconds["server, asynchronous"]
    waits, bounded, free = (
        time_to(race(f"server, {how}", 1.0, True)[0], TARGET) for how in ("synchronous", "bounded", "asynchronous")
    )
    assert bounded < 0.8 * waits and free < 0.8 * waits


def test_synchronous_methods_see_the_same_losses():
    """All-reduce and server: the same steps, on clocks of their own."""
    reduced, served = race("all-reduce", steps=10)[0], race("server, synchronous", steps=10)[0]
    assert [seen.loss for seen in served] == pytest.approx([seen.loss for seen in reduced], rel=1e-4)
    assert served[-1].seconds > reduced[-1].seconds  # 2 (P - 1) n through one port


def test_local_sgd_sends_a_fraction():
    sent = {name: sum(race(name, steps=16)[1].bytes_sent) for name in ("all-reduce", "local SGD")}
    assert sent["local SGD"] == pytest.approx(sent["all-reduce"] / 4, rel=0.05)


@pytest.mark.parametrize("name", ["server, asynchronous", "one-sided", "gossip by pulling"])
def test_two_races_give_the_same_bits(name):
    assert race(name, jitter=True, steps=8)[0] == race(name, jitter=True, steps=8)[0]


def test_first_time():
    seen = [Seen(1.0, 3.0), Seen(2.0, 1.0), Seen(3.0, 2.0)]
    assert (time_to(seen, 2.5), steps_to(seen, 2.5)) == (2.0, 2) and time_to(seen, 0.5) == steps_to(seen, 0.5) == inf


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(RankFailed, match="one of all-reduce") as failed:
        launch(contest, 3, "hope", Contest(OBJECTIVE, 5, 0.5, 1e-2))
    assert len(failed.value.errors) == 3
