"""Seconds of a step with offloaded activations, by hand; test_saved_tensors.py holds them to the virtual clock."""

import pytest

from reference.tiers.overlap import offloaded_step


@pytest.mark.parametrize(
    "write, read, room, seconds",
    [
        (1, 1, 3, 12),  # hidden: four layers of 1 + 2 seconds
        (1, 2, 2, 12),  # the read begins when one tensor is free, one layer of 2 s ahead: just hidden
        (1, 3, 2, 14),  # 1 s too long, twice
        (1, 3, 3, 12),  # with room for one more the read begins a layer earlier: hidden
        (3, 1, 2, 15),  # layer 2 has room at 1 + 3 and layer 3 at 7, instead of 3 and 4
    ],
)
def test_by_hand(write, read, room, seconds):
    assert offloaded_step([1] * 4, [2] * 4, [write] * 4, [read] * 4, room) == seconds


def test_bytes_over_bandwidth_against_seconds_is_what_decides():
    """E1-23: a copy that takes no longer than the layer beside it is hidden, whatever the two are; the root is not."""
    for layer in (0.1, 1.0, 10.0):
        times = [layer] * 20
        assert offloaded_step(times, times, times, times, 3) == pytest.approx(40 * layer)
        late = offloaded_step(times, times, [1.1 * layer] * 20, [1.1 * layer] * 20, 3)
        assert late > 40 * layer


def test_copies_a_little_longer_than_a_layer_fill_the_free_room_first():
    for layers, hidden in ((12, True), (24, False)):
        seconds = offloaded_step([1.0] * layers, [2.0] * layers, [1.1] * layers, [1.1] * layers, 2)
        assert (seconds < 3 * layers + 1e-9) == hidden
