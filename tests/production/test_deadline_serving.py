"""The script that chapter 14 shows: its answers, its batches, what it sheds, and its watchdog, without a clock."""

import queue
import runpy
import time

import pytest
import torch

from .scripts import FOLDER, ONE_PROCESS

pytestmark = ONE_PROCESS
FOREVER = 1e6  # seconds


@pytest.fixture
def script():
    """The names of the script, with times that no machine is too slow for."""
    found = runpy.run_path(str(FOLDER / "deadline_serving.py"))["main"].__globals__
    found.update(WAIT=FOREVER, DEADLINE=FOREVER, SILENT=FOREVER)
    return found


def waiting(script) -> tuple[queue.Queue, torch.Tensor]:
    """Requests that are all there already."""
    pictures, coming = torch.randn(script["REQUESTS"], script["WIDTH"]), queue.Queue()
    for number, picture in enumerate(pictures):
        coming.put((number, time.monotonic(), picture))
    return coming, pictures


def served(script, **how):
    coming, pictures = waiting(script)
    state = {"beat": time.monotonic(), "safe stop": False}
    answers, sizes = script["serve"](coming, script["REQUESTS"], 0.0, state, **how)
    return answers, sizes, pictures, state


def test_each_answer_is_that_of_the_model(script):
    answers, sizes, pictures, _ = served(script)
    with torch.inference_mode():
        alone = script["model"](pictures)
    assert sizes == [script["BATCH"]] * (script["REQUESTS"] // script["BATCH"])
    assert torch.allclose(torch.stack([answers[n][0] for n in range(len(pictures))]), alone, atol=1e-6)


def test_nobody_waits_without_a_waiting_time(script):
    script["WAIT"] = 0
    assert set(served(script)[1]) == {1}


def test_what_cannot_be_in_time_is_shed(script):
    script["DEADLINE"] = -1
    answers, sizes, *_ = served(script)
    assert answers == {} and sum(sizes) == script["REQUESTS"]


def test_a_loop_that_hangs_is_stopped_from_outside(script):
    """The watchdog's clock is the only one here: it sees a beat that is too old."""
    state = {"beat": time.monotonic() - 1, "safe stop": False}
    script["SILENT"] = 0.5
    script["watch"](state)
    assert state["safe stop"]
    coming, _ = waiting(script)
    assert script["serve"](coming, script["REQUESTS"], 0.0, state) == ({}, [])


def test_as_typed(script, capsys):
    script.update(WAIT=0.001, EVERY=0.0)
    script["main"](stall=False)
    said = capsys.readouterr().out
    assert f"{script['REQUESTS']} of {script['REQUESTS']} answered, 0 late" in said and "content" in said
    script.update(SILENT=0.1, REQUESTS=8)
    script["main"](stall=True)
    assert capsys.readouterr().out.endswith("safe stop\n")
