"""Wrong answers to `how_late`, each with words of the hint that it must earn."""

from exercises.grading.wrong import edit, whole

WRONG = [
    whole(
        "at_once",
        "late by the first one's update",
        """
        def how_late(seconds, updates):
            nxt = list(seconds)
            read = [0] * len(seconds)
            late = []
            t = 0
            while len(late) < updates:
                now = min(nxt)
                who = [w for w in range(len(nxt)) if nxt[w] == now]
                t0 = t
                for w in who:
                    late.append(t0 - read[w])
                    t += 1
                for w in who:
                    read[w] = t
                    nxt[w] += seconds[w]
            return late[:updates]
        """,
    ),
    whole(
        "clock_of_whole_seconds",
        "from push to push",
        """
        def how_late(seconds, updates):
            read = [0] * len(seconds)
            late = []
            now = 0
            while len(late) < updates:
                now += 1
                for w, s in enumerate(seconds):
                    if now % s == 0 and len(late) < updates:
                        late.append(len(late) - read[w])
                        read[w] = len(late)
            return late
        """,
    ),
    edit(
        "counts_its_own",
        "One too many each",
        """
        version, late = [0] * len(seconds), []
        for done in range(updates):
        """,
        """
        read, late = [0] * len(seconds), []
        while len(late) < updates:
        """,
        """
        late.append(done - version[worker])
        version[worker] = done + 1
        """,
        """
        late.append(len(late) - read[worker] + 1)
        read[worker] = len(late)
        """,
    ),
    whole(
        "highest_first",
        "the one with the lowest number is first",
        """
        def how_late(seconds, updates):
            queue = [(time, -worker) for worker, time in enumerate(seconds)]
            heapq.heapify(queue)
            read, late = [0] * len(seconds), []
            while len(late) < updates:
                time, worker = heapq.heappop(queue)
                worker = -worker
                late.append(len(late) - read[worker])
                read[worker] = len(late)
                heapq.heappush(queue, (time + seconds[worker], -worker))
            return late
        """,
    ),
    edit(
        "in_seconds",
        "Both are numbers of one counter",
        """
        version, late = [0] * len(seconds), []
        for done in range(updates):
        """,
        """
        read, late = [0] * len(seconds), []
        while len(late) < updates:
        """,
        """
        late.append(done - version[worker])
        version[worker] = done + 1
        """,
        """
        late.append(seconds[worker])
        read[worker] = time
        """,
    ),
    whole(
        "in_turns",
        "Your workers take turns",
        """
        def how_late(seconds, updates):
            return [update % len(seconds) for update in range(updates)]
        """,
    ),
    whole(
        "nobody_is_late",
        "Nobody is late only if",
        """
        def how_late(seconds, updates):
            return [0] * updates
        """,
    ),
    whole(
        "one_less_than_workers",
        "P - 1 is right when",
        """
        def how_late(seconds, updates):
            return [len(seconds) - 1] * updates
        """,
    ),
    whole(
        "reads_after_all",
        "the first has not seen the update of the second",
        """
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
        """,
    ),
    whole(
        "reads_before_its_update",
        "reads after its own update",
        """
        def how_late(seconds, updates):
            events = [(s, w) for w, s in enumerate(seconds)]
            heapq.heapify(events)
            read = [0] * len(seconds)
            late = []
            for t in range(updates):
                now, w = heapq.heappop(events)
                late.append(t - read[w])
                read[w] = t
                heapq.heappush(events, (now + seconds[w], w))
            return late
        """,
    ),
    whole(
        "too_many",
        "may be beyond the last update",
        """
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
        """,
    ),
]
