"""Goes on until all that push at the same time have pushed."""

EARNS = "may be beyond the last update"


def how_late(seconds, updates):
    time, read, late = list(seconds), [0] * len(seconds), []
    while len(late) < updates:
        now = min(time)
        for worker in range(len(seconds)):
            if time[worker] == now:
                late.append(len(late) - read[worker])
                read[worker] = len(late)
                time[worker] += seconds[worker]
    return late
