"""The cost model against the virtual cluster's clock: a step of the same layout, message by message."""

from __future__ import annotations

import pytest

from reference.perf.accelerators import accelerator
from reference.planner.architecture import Architecture
from reference.planner.cluster import Cluster, NetworkLevel
from reference.planner.predict import predict
from reference.planner.spec import LayoutSpec
from reference.worlds import launch, networks

from .simulated import train

SMALL = Architecture("small", 8, 64, 4, 4, 256, 256, 32)
SLOW = accelerator("CPU core")._replace(flops=2e11, bandwidth=1e11)


def machine(node: int) -> Cluster:
    levels = (NetworkLevel("inside", node, 1e10, 1e-6), NetworkLevel("between", 0, 2.5e9, 2e-6))
    return Cluster("toy", SLOW, node, levels, 1e12, attention=0.7)


PLAIN = LayoutSpec(sequence_parallel=False, overlap_tensor=False, overlap_data=False)
LAYOUTS = [  # layout, ranks of a node
    (PLAIN._replace(data=4), 4),
    (PLAIN._replace(tensor=4), 4),
    (PLAIN._replace(stages=4), 4),
    (PLAIN._replace(stages=4, schedule="GPipe"), 4),
    (PLAIN._replace(data=4, tensor=2), 2),
    (PLAIN._replace(tensor=2, stages=4), 2),
    (PLAIN._replace(data=2, tensor=2, stages=2, recompute="full"), 2),
    (PLAIN._replace(data=2, tensor=4, stages=4), 4),
    (PLAIN._replace(tensor=4, stages=4, schedule="GPipe"), 4),
]


@pytest.mark.parametrize(
    "spec, node", LAYOUTS, ids=[f"d{s.data}t{s.tensor}p{s.stages}{s.schedule}" for s, _ in LAYOUTS]
)
def test_a_simulated_step_takes_as_long_within_1_percent(spec, node):
    toy, batch = machine(node), 8 * spec.data
    inside, between = toy.levels
    network = networks.two_level(
        node, inside.latency, 1 / inside.bandwidth, between.latency, 1 / between.bandwidth, nics=node
    )
    clock = launch(train, spec.ranks, SMALL, spec, toy, batch, network=network)
    begins, ends = zip(*clock.results)
    clock = max(ends) - min(begins)
    said = predict(SMALL, toy, spec, batch).seconds
    assert said.total == pytest.approx(clock, rel=0.01)
