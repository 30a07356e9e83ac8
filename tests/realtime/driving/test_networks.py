"""What is learned is good enough to stop by, at every resolution."""

import numpy as np
import pytest
import torch

from reference.realtime.driving import networks, scene
from reference.realtime.driving.schedule import SIZES


@pytest.mark.parametrize("size", SIZES)
def test_the_detector_tells_near_from_far(size):
    fine = scene.pictures(np.array([8.0, 16.0, 40.0]), 64, np.random.default_rng(9))
    near, middle, far = networks.detector()(torch.from_numpy(scene.coarser(fine, size))).tolist()
    assert 5 < near < 12 < middle < 24 < far


def test_the_planner_slows_down_and_looks_ahead():
    planner = networks.RoutePlanner()
    assert planner.speed(5, 0, 0) < 1.5 < planner.speed(25, 0, 0) < 10 < planner.speed(60, 0, 0)
    assert planner.speed(30, 15, 0.4) < planner.speed(30, 0, 0.4), "the obstacle comes nearer meanwhile"
