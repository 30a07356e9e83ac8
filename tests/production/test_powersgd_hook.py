"""The script that chapter 3 shows: it runs on two processes, learns both ways, and sends as little as it says."""

import re

import pytest

from . import scripts

pytestmark = scripts.ONE_PROCESS


@pytest.fixture(scope="module")
def printed():
    """What the script prints on two ranks."""
    return "\n".join(scripts.printed("powersgd_hook.py", 2))


def test_both_ways_learn(printed):
    """The loss of the zero function is 1: the mean square of 64 products of variance 1/64."""
    losses = [float(loss) for loss in re.findall(r"loss (\d\.\d+)", printed)]
    assert len(losses) == 2 and all(loss < 0.9 for loss in losses)


def test_power_sgd_sends_the_factors_and_the_biases(printed):
    """Of 256 x 64 and 64 x 256 numbers, with rank 4: 4 (256 + 64) each, and 320 biases whole."""
    ratio = float(re.search(r"([\d.]+) times fewer", printed)[1])
    assert ratio == pytest.approx((2 * 256 * 64 + 320) / (2 * 4 * (256 + 64) + 320), abs=0.05)


def test_the_script_is_short_enough_to_be_read():
    assert 30 <= len((scripts.FOLDER / "powersgd_hook.py").read_text().splitlines()) <= 60
