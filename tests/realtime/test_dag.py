"""Graphs: Graham's anomalies with their figures, and his bound above every order."""

from itertools import permutations
from random import Random

import pytest

from reference.realtime import simulate, sporadic
from reference.realtime.dag import DagTask, dag_fixed_priority, fastest, graham, response_times

# Graham 1969: nine tasks in a list; also in Buttazzo, Hard Real-Time Computing Systems, section 2.4
TICKS = {"1": 3, "2": 2, "3": 2, "4": 2, "5": 4, "6": 4, "7": 4, "8": 4, "9": 9}
EDGES = (("1", "9"), ("4", "5"), ("4", "6"), ("4", "7"), ("4", "8"))


def makespan(nodes, edges, processors: int) -> int:
    task = DagTask("g", nodes, edges, period=1000, preemptive=False)
    return simulate([task], processors=processors, until=1).response("g")


def test_grahams_anomalies():
    task = DagTask("g", TICKS, EDGES, period=100)
    assert (task.execution, task.longest, graham(task, 3)) == (34, 12, 19)
    assert makespan(TICKS, EDGES, 3) == 12
    assert makespan(TICKS, EDGES, 4) == 15  # a processor more
    assert makespan({name: ticks - 1 for name, ticks in TICKS.items()}, EDGES, 3) == 13  # each task a tick shorter
    assert makespan(TICKS, EDGES[:1] + EDGES[3:], 3) == 16  # two edges less


def random_graph(rng: Random, name: str = "g", most: int = 7, period: int = 1000) -> DagTask:
    nodes = {str(i): rng.randint(1, 6) for i in range(rng.randint(2, most))}
    edges = tuple((a, b) for a in nodes for b in nodes if int(a) < int(b) and rng.random() < 0.3)
    return DagTask(name, nodes, edges, period=period, preemptive=rng.random() < 0.5)


def test_grahams_bound_is_above_every_order_and_never_below_the_best():
    rng, reached = Random(1), 0
    for _ in range(15):
        task = random_graph(rng, most=5)
        for m in (1, 2, 3):
            orders = [
                makespan({name: task.nodes[name] for name in order}, task.edges, m)
                for order in permutations(task.nodes)
            ]
            assert fastest(task, m) <= min(orders) <= max(orders) <= graham(task, m)
            reached += max(orders) == graham(task, m) > fastest(task, m)
    assert reached  # equal for some


def test_bounds_under_fixed_priorities_hold():
    rng, proved = Random(2), 0
    for seed in range(150):
        m = rng.choice((2, 3))
        tasks = [random_graph(rng, f"g{i}", 6, rng.choice((30, 40, 60))) for i in range(rng.randint(2, 3))]
        tasks = [DagTask(t.name, t.nodes, t.edges, t.period) for t in tasks]
        for pattern in ({"until": 120}, {"releases": sporadic, "until": 200, "seed": seed}):
            run = simulate(tasks, processors=m, **pattern)
            for task, R in zip(tasks, response_times(tasks, m)):
                if R is not None:
                    proved += 1
                    assert all(job.response <= R for job in run.of(task.name)), tasks
        told = dag_fixed_priority(tasks, m)
        assert told.schedulable in (True, None) and (told.schedulable is None) == (None in told.responses)
    assert proved > 200


def test_one_node_after_the_other_is_a_task():
    task = DagTask("g", {"a": 2, "b": 3}, (("a", "b"),), period=10)
    assert (task.execution, task.longest) == (5, 5) and graham(task, 4) == fastest(task, 4) == 5
    assert simulate([task], processors=4).response("g") == 5


def test_wrong_graphs_are_refused():
    with pytest.raises(ValueError, match=r"circle a > b > a|circle b > a > b"):
        DagTask("g", {"a": 1, "b": 1}, (("a", "b"), ("b", "a")), period=10)
    with pytest.raises(ValueError, match="no node c"):
        DagTask("g", {"a": 1}, (("a", "c"),), period=10)
    with pytest.raises(ValueError, match="longest path has 5 ticks, and its deadline is 4"):
        DagTask("g", {"a": 2, "b": 3}, (("a", "b"),), period=10, deadline=4)
    with pytest.raises(ValueError, match="at least 1 tick"):
        DagTask("g", {"a": 0}, (), period=10)
    with pytest.raises(ValueError, match="got 0"):
        graham(DagTask("g", {"a": 1}, (), period=10), 0)
    with pytest.raises(ValueError, match="D <= T"):
        response_times([DagTask("g", {"a": 1}, (), period=10, deadline=12)], 2)


def test_forgetting_the_longest_path_is_seen():
    """The planted mistake: V / m alone is below what a run takes."""
    task = DagTask("g", TICKS, EDGES, period=100)
    assert -(-task.execution // 3) < makespan(TICKS, EDGES, 3) + 1 <= graham(task, 3) + 1
    assert -(-task.execution // 4) < makespan(TICKS, EDGES, 4) <= graham(task, 4)


def test_a_job_that_began_before_the_window_counts():
    """Without it, 6 ticks would be the bound for the third graph; with these offsets a run needs 7."""
    rows = (("a", {"x": 2}, 7, 0), ("b", {"x": 3, "y": 3}, 6, 0), ("c", {"x": 1, "y": 2}, 6, 4))
    tasks = [DagTask(name, nodes, period=T, offset=offset) for name, nodes, T, offset in rows]
    assert response_times(tasks, 2) == (2, 5, None)
    assert simulate(tasks, processors=2, until=52).response("c") == 7
