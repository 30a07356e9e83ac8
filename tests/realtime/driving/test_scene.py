"""The car and what its sensors see."""

import numpy as np

from reference.realtime.driving import scene


def test_a_car_brakes_to_a_stop_and_not_backwards():
    car = scene.DrivenCar()
    for _ in range(200):
        car.move(0.02, -100.0)  # no brake is harder than the hardest
    assert car.speed == 0
    assert abs(car.position - 15**2 / (2 * 8)) < 0.2  # v^2 / 2a


def test_a_nearer_obstacle_is_larger_and_coarser_pictures_show_the_same():
    near, far = scene.pictures(np.array([6.0, 40.0]), 64, np.random.default_rng(0))
    assert (near > 160).sum() > 10 * (far > 160).sum()
    small = scene.coarser(near[None], 16)
    assert small.shape == (1, 1, 16, 16) and abs(small.mean() - near.mean()) < 1
