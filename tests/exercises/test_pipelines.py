"""What the graders of chapter 9 take for right is what its schedules do, simulated."""

import pytest

from exercises.graders.ch09_pipelines import common, fill_in, predict, speed_up, write
from exercises.grading.grade import draw
from reference.pipeline.analysis.validate import InvalidSchedule, check_times
from reference.pipeline.analysis.versions import kept_versions, versions
from reference.pipeline.analysis.volume import boundary, contiguous, crossings, tensor_bytes
from reference.pipeline.messages import messages
from reference.pipeline.schedule import Schedule
from reference.pipeline.schedules import make
from reference.pipeline.schedules.interleaved import interleaved
from reference.pipeline.schedules.plain import gpipe, pipedream
from reference.pipeline.simulate import UNIT, Times, activations, simulate
from reference.pipeline.sizing.micro_batches import affine, choose
from reference.pipeline.sizing.partition import LayerProfile, partition
from tests.exercises.test_graders import SEED

pytestmark = pytest.mark.chapter(number=9)
NAMES = {"interleaved": "interleaved 1F1B"}
P, M, V = 4, 16, 2


def schedule(name, p=P, m=M, v=V):
    return make(NAMES.get(name, name), p, m, v if name == "interleaved" else None)


def times(name, p=P, m=M, v=V):
    """Of stages that are together as long on a rank, however many it has."""
    return simulate(schedule(name, p, m, v), UNIT.chunked(v if name == "interleaved" else 1))


@pytest.mark.parametrize("case", draw(predict.bubble_share, "bubble_share", SEED), ids=lambda case: case.label)
def test_shares_of_bubbles_are_the_simulators(case):
    name, p, m, v = case.arguments[0]
    assert predict.share(name, p, m, v) == pytest.approx(times(name, p, m, v).bubble, abs=1e-12)


@pytest.mark.parametrize("case", draw(predict.activations_kept, "activations_kept", SEED), ids=lambda case: case.label)
def test_activations_kept_are_the_simulators(case):
    name, p, m, _ = case.arguments[0]
    assert [part * p * m for part in predict.kept(name, p, m)] == pytest.approx(activations(schedule(name, p, m)))


def test_few_micro_batches_are_enough_and_fewer_are_not():
    for p in range(1, 12):
        for percent in range(1, 100):
            m = predict.enough(p, percent)
            assert 100 * (p - 1) <= percent * (m + p - 1)
            assert m == 1 or 100 * (p - 1) > percent * (m + p - 2)


def test_bytes_of_tensor_and_pipeline_parallelism():
    P, layers, batch, s, h, m, seconds, bandwidth = 8, 80, 64, 4096, 8192, 32, 250, 450e9
    n = boundary(batch // m, s, h)
    tp, pp, wait, bubble = predict.step(P, layers, batch, s, h, m, seconds, bandwidth)
    assert tp == tensor_bytes(P, layers, m, n) == 280 * pp
    sent = [sum(len(exchange.sends) for exchange in rank) * n for rank in messages(schedule("1F1B", P, m))]
    assert sent[1:-1] == [pp] * (P - 2)
    assert wait == tp / bandwidth
    part = seconds / P / m / 3
    assert seconds / P + bubble == pytest.approx(
        simulate(schedule("1F1B", P, m), UNIT._replace(F=part, I=part, W=part)).makespan
    )


class TestWhichSchedule:
    """The statements of which_schedule, by letter: of the five schedules they are true for this one, or for none."""

    FIVE = ("GPipe", "1F1B", "interleaved", "PipeDream", "ZB-H1")

    def idle(self, name, p=P, m=M):
        """Seconds in which a rank is idle: in a step, or in PipeDream's second m micro-batches, as it has no steps."""
        before = times(name, p, m).makespan if name == "PipeDream" else 0
        return times(name, p, m * (1 + bool(before))).makespan - before - 3 * m

    def memory(self, name, m=M):
        return max(activations(schedule(name, m=m))) / (V if name == "interleaved" else 1)

    def crossings(self, name):
        return sum(len(exchange.sends) for rank in messages(schedule(name)) for exchange in rank)

    def links(self, name):
        ranks = enumerate(messages(schedule(name)))
        return {frozenset((r, message.peer)) for r, rank in ranks for exchange in rank for message in exchange.sends}

    def true_for(self, statement):
        return [name for name in self.FIVE if statement(name)]

    def test_memory_and_bubble(self):
        idle, memory, crossings = self.idle, self.memory, self.crossings
        assert self.true_for(lambda name: memory(name, 2 * M) / 2 == memory(name)) == ["GPipe"]
        assert self.true_for(lambda name: idle(name) == idle("GPipe") and memory(name) < M) == ["1F1B"]
        smaller = self.true_for(lambda name: idle(name) < idle("1F1B"))
        assert smaller == ["interleaved", "PipeDream", "ZB-H1"]
        assert [name for name in smaller if memory(name) < memory("1F1B")] == []
        assert [name for name in smaller if crossings(name) > 2 * crossings("1F1B")] == ["interleaved"]
        assert memory("interleaved") > memory("1F1B")
        assert crossings("ZB-H1") == crossings("1F1B") and memory("ZB-H1") == memory("1F1B")
        assert self.true_for(lambda name: idle(name) == 0) == ["PipeDream"]

    def test_versions_and_links(self):
        assert self.true_for(lambda name: max(kept_versions(schedule(name))) > 1) == ["PipeDream"]
        neighbours = {frozenset((r, r + 1)) for r in range(P - 1)}
        assert self.true_for(lambda name: not self.links(name) <= neighbours) == ["interleaved"]
        assert crossings(contiguous(48, 8)) == 7  # 48 layers on 8 ranks


def test_messages_are_the_executors():
    for case in draw(fill_in.messages_of, "messages_of", SEED):
        orders = case.arguments[0][0]
        for rank, told in enumerate(messages(common.schedule(orders))):
            right = fill_in.table(orders, rank)
            for exchange, (receive, send) in zip(told, right, strict=True):
                assert [message.peer for message in exchange.receives] == ([receive[1]] if receive else [])
                assert [message.peer for message in exchange.sends] == ([send[1]] if send else [])


def test_rounds_of_gpipe_cost_its_bubble_once_more():
    assert write.rounds(5, 5) == common.written(gpipe(3, 5).orders[1])
    took = {fits: common.timed([write.rounds(8, fits)] * 4).makespan for fits in (8, 4, 1)}
    assert took == {8: 33, 4: 42, 1: 96} and times("1F1B", 4, 8).makespan == 33
    assert activations(common.schedule([write.rounds(8, 4)] * 4)) == [4] * 4


@pytest.mark.parametrize("p, m, v", [(2, 4, 2), (3, 9, 3), (4, 4, 2), (4, 8, 1), (1, 3, 2)])
def test_interleaved_orders_are_the_references(p, m, v):
    for rank, order in enumerate(interleaved(p, m, v, lead=2)):
        assert write.looping(p, m, v, rank) == common.written(order, staged=True)


def test_what_is_drawn_wrong_is_what_the_validator_finds():
    compared = 0
    for case in draw(write.first_wrong_action, "first_wrong_action", SEED):
        rows = case.arguments[0][0]
        found, words = write.wrong(rows), [[word for word in row if word] for row in rows]
        if any(len(set(row)) < len(row) for row in words) or (found and found[1] == len(rows[0])):
            continue  # done twice, or missing: no times are wrong
        orders = tuple(tuple(common.action(word, r) for word in row) for r, row in enumerate(words))
        starts = [[float(t) for t, word in enumerate(row) if word] for row in rows]
        drawn = Times(Schedule("drawn", orders), starts, [[t + 1 for t in row] for row in starts])
        compared += 1
        try:
            check_times(drawn)
        except (InvalidSchedule, KeyError):  # too early, or never
            assert found is not None
        else:
            assert found is None
    assert compared > 10


def test_the_best_cut_is_the_references():
    for case in draw(write.partition, "partition", SEED):
        seconds, p = case.arguments[0]
        assert write.least(seconds, p) == partition([LayerProfile(1.0 * each, 0.0) for each in seconds], p).seconds


@pytest.mark.parametrize("p, m, stage", [(3, 6, 0), (3, 6, 1), (4, 8, 0), (4, 3, 0), (2, 5, 1)])
def test_versions_of_a_stage_are_pipedreams(p, m, stage):
    """With a gradient of 1 whatever the weights, they tell how many updates each forward pass has seen."""
    seen, made = {}, pipedream(p, m)
    order = common.written(made.orders[stage])

    def forward(w, i):
        seen[stage, i] = -w

    w, most = write.trained(0, order, forward, lambda w, i, left: 1, 1)
    assert seen == {place: version for place, version in versions(made).items() if place[0] == stage}
    assert -w == m and most == kept_versions(made)[stage]


def test_the_best_number_of_micro_batches_is_the_references():
    for case in draw(speed_up.choose_micro_batches, "choose_micro_batches", SEED):
        given = speed_up.Given(*case.arguments[0])
        free = speed_up.best(given, waits=lambda *_: 0)
        if free is not None:
            times = affine(given.fixed, given.slope)
            choice = choose(given.batch, given.p, times, weights=given.weights, kept=given.kept, memory=given.memory)
            assert (choice.m, choice.seconds) == (free, speed_up.step(given, free, given.batch // free))


@pytest.mark.parametrize("p, m", [(1, 3), (2, 2), (3, 6), (4, 9)])
def test_a_filled_bubble_is_zb_h1s(p, m):
    made = make("ZB-H1", p, m)
    assert simulate(made).makespan == 3 * m + p - 1 and max(activations(made)) == p


def test_what_is_right_with_little_room_is_not_called_1f1b():
    """A stage that keeps too much was told that 1F1B keeps 2, where 1F1B with room for 2 does."""
    cases = draw(fill_in.stage_order, "stage_order", SEED)
    case = next(case for case in cases if case.arguments[0][3] < min(case.arguments[0][:2]))
    p, m, _, fits = case.arguments[0]
    all_of_it = [[f"{a.kind}{a.micro}" for a in order if a.kind != "S"] for order in schedule("1F1B", p, m).orders]
    right = [fill_in.turns(p, m, stage, fits) for stage in range(p)]
    told = fill_in.what_a_stage_does(case, all_of_it, right)
    assert told.endswith(f"keeps {p} micro-batches at a time; in 1F1B with room for {fits} it is {fits}.")
