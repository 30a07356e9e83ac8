"""Lets all that push at the same time push first, and then read."""

EARNS = "the first has not seen the update of the second"


def how_late(seconds, updates):
    time, read, late = list(seconds), [0] * len(seconds), []
    while len(late) < updates:
        now = [worker for worker in range(len(seconds)) if time[worker] == min(time)]
        for worker in now:
            late.append(len(late) - read[worker])
        for worker in now:
            read[worker] = len(late)
            time[worker] += seconds[worker]
    return late[:updates]
