"""python deadline_serving.py [--stall]: batches with deadlines, a watchdog, a stream's priority"""

import queue
import sys
import threading
from time import monotonic, sleep

import torch
from torch import nn

EVERY, WAIT, DEADLINE, SILENT = 0.004, 0.008, 0.2, 0.5  # seconds
REQUESTS, BATCH, WIDTH = 60, 4, 64
device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
urgent = torch.cuda.Stream(priority=-1) if device.type == "cuda" else None  # a hint
model = nn.Sequential(nn.Linear(WIDTH, 256), nn.ReLU(), nn.Linear(256, 8)).to(
    device
)
inputs = torch.zeros(BATCH, WIDTH, device=device)  # one shape, allocated once


@torch.inference_mode()
def compute(batch):
    began = monotonic()
    with torch.cuda.stream(urgent):  # without a stream it does nothing
        inputs[: len(batch)] = torch.stack(batch)
        rows = model(inputs)[: len(batch)].cpu()  # waits until it is done
    return rows, monotonic() - began


def gather(coming):  # full, or when the oldest has waited
    batch = [coming.get()]
    while len(batch) < BATCH and (left := batch[0][1] + WAIT - monotonic()) > 0:
        try:
            batch.append(coming.get(timeout=left))
        except queue.Empty:
            break
    return batch


def serve(coming, number, cost, state, stall=False):
    answers, sizes = {}, []
    while sum(sizes) < number and not state["safe stop"]:
        state["beat"] = monotonic()
        batch = gather(coming)
        sizes.append(len(batch))
        if stall and sum(sizes) > number // 2:
            sleep(3 * SILENT)  # as a driver that hangs
        ends = monotonic() + cost
        batch = [
            one for one in batch if ends <= one[1] + DEADLINE
        ]  # others are shed
        rows = compute([x for _, _, x in batch])[0] if batch else []
        for (n, arrival, _), row in zip(batch, rows):
            answers[n] = row, monotonic() - arrival
    return answers, sizes


def watch(state):  # it looks at its own clock, and asks nobody
    while monotonic() - state["beat"] <= SILENT:
        sleep(SILENT / 10)
    state["safe stop"] = True


def camera(coming):
    for n, picture in enumerate(torch.randn(REQUESTS, WIDTH)):
        coming.put((n, monotonic(), picture))
        sleep(EVERY)


def main(stall):
    spent = [compute([torch.zeros(WIDTH)] * BATCH)[1] for _ in range(50)]  # warm
    coming, state = queue.Queue(), {"beat": monotonic(), "safe stop": False}
    for work, subject in (watch, state), (camera, coming):
        threading.Thread(target=work, args=(subject,), daemon=True).start()
    answers, sizes = serve(coming, REQUESTS, max(spent[10:]), state, stall)
    late = sum(seconds > DEADLINE for _, seconds in answers.values())
    print(f"{len(answers)} of {REQUESTS} answered, {late} late; batches: {sizes}")
    print("safe stop" if state["safe stop"] else "the watchdog was content")


if __name__ == "__main__":
    main("--stall" in sys.argv)
