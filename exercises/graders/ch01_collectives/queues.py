"""Level 3 of chapter 1, write: what a port with queues sends when."""

from numbers import Real

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import short
from exercises.grading.returns import Returns, so_far


def port(messages, alpha, beta, chunk, order=None, ready=True, overtaken=True, full=False, late=False, again=1):
    """When each message is through; or what somebody gets who takes another order, or counts otherwise.

    order        which message leaves first, of (message, number of its chunks that have left)
    ready        False: all are taken for ready from the beginning
    overtaken    False: a message that has begun goes on to its end
    full         a chunk takes the time of a full one, also if less is left
    late         what becomes ready just when the port is free is seen a chunk later
    again        0: only the first chunk of a message costs alpha
    """
    order = order or (lambda message, sent: (message[1], message[0]))
    left, sent = [size for _, _, size in messages], [0] * len(messages)
    through, now, last = [0] * len(messages), 0, None
    while any(left):
        waiting = [i for i, size in enumerate(left) if size]
        if ready:
            now = max(now, min(messages[i][0] for i in waiting))
        there = [i for i in waiting if not ready or messages[i][0] <= now]
        earlier = [i for i in there if messages[i][0] < now]
        first = min((late and earlier) or there, key=lambda i: (*order(messages[i], sent[i]), i))
        if not overtaken and last in waiting:
            first = last
        size = min(chunk, left[first])
        now += alpha * (again or not sent[first]) + (chunk if full else size) * beta
        left[first], through[first], last = left[first] - size, now, first
        sent[first] += 1
    return through


def otherwise(**how):
    return lambda *given: port(*given, **how)


def interrupted(messages, alpha, beta, chunk):
    """What somebody gets who stops a chunk as soon as something more urgent is ready."""
    need = [-(-size // chunk) * alpha + size * beta for _, _, size in messages]
    through, now = [0] * len(messages), 0
    while any(need):
        waiting = [i for i, seconds in enumerate(need) if seconds]
        now = max(now, min(messages[i][0] for i in waiting))
        first = min((i for i in waiting if messages[i][0] <= now), key=lambda i: (messages[i][1], messages[i][0]))
        coming = [messages[i][0] - now for i in waiting if messages[i][0] > now]
        step = min([need[first], *coming])
        now, need[first] = now + step, need[first] - step
        through[first] = now
    return through


def from_when_it_is_ready(messages, alpha, beta, chunk):
    """What somebody gets whose messages do not wait for each other."""
    return [ready + -(-size // chunk) * alpha + size * beta for ready, _, size in messages]


def random(rng, most=6, largest=12):
    """Some messages, with ties in time and queue, and pauses between them."""
    k = int(rng.integers(2, most + 1))
    messages = [(int(rng.integers(0, 60)), int(rng.integers(0, 4)), int(rng.integers(1, largest))) for _ in range(k)]
    return messages, int(rng.integers(1, 5)), int(rng.integers(1, 4)), int(rng.integers(1, 6))


def many(rng):
    """400 messages of three queues, ready in any order, of up to five chunks."""
    messages = [(int(rng.integers(0, 50_000)), int(rng.integers(0, 3)), int(rng.integers(1, 200))) for _ in range(400)]
    return messages, 5, 1, 40


FIXED = [
    ([(0, 2, 4), (0, 0, 3), (0, 3, 2), (0, 1, 1)], 1, 1, 4),
    ([(0, 3, 10), (1, 0, 2)], 1, 2, 4),
    ([(5, 2, 3)], 2, 1, 8),
    ([(0, 1, 8), (0, 1, 8)], 1, 1, 4),
    ([(3, 1, 4), (7, 1, 4), (0, 2, 9)], 1, 1, 9),
    ([(7, 1, 4), (3, 1, 4), (0, 2, 9)], 1, 1, 3),
    ([(0, 3, 6), (8, 0, 3)], 1, 1, 3),  # it becomes ready just when a chunk ends
    ([(0, 1, 2), (40, 0, 5), (41, 3, 1)], 3, 2, 2),  # a pause
    ([(30, 0, 3), (0, 3, 100)], 2, 1, 7),
]


def no_times(case, results):
    """A list of as many numbers as there are messages."""
    (got,), k = results, len(case.arguments[0][0])
    try:
        times = list(got)
    except TypeError:
        times = None
    if times is None or isinstance(got, str | dict | set) or not all(isinstance(each, Real) for each in times):
        return Finding(f"it returned {short(got)}.", "Return a list with a time for each message, in their order.")
    if len(times) != k:
        return Finding(f"it returned {len(times)} times for {k} messages.", "Each message has one: its last chunk's.")
    return None


def first_that_differs(case, results, right):
    (got,), (want,), messages = results, right, case.arguments[0][0]
    i = next(i for i, (mine, its) in enumerate(zip(got, want)) if mine != its)
    ready, queue, size = messages[i]
    return f"message {i} (ready at {ready}, queue {queue}, {size} kB) is through at {got[i]:g}; right is {want[i]}."


urgent_first = Exercise(
    cases=inputs.calls(*FIXED, *[random] * 8, many, names="messages alpha beta chunk"),
    checks=[
        Returns(
            port,
            [
                (
                    otherwise(order=lambda message, sent: (message[0],)),
                    "First in, first out: a log that was ready earlier holds up the gradient. What does the queue's "
                    "number say?",
                ),
                (
                    otherwise(order=lambda message, sent: (-message[1], message[0])),
                    "The log leaves before the critical path. Which number is the most urgent?",
                ),
                (
                    otherwise(overtaken=False),
                    "A message that has begun is sent to its end. After which part of it may another take its turn?",
                ),
                (
                    lambda messages, alpha, beta, chunk: port(messages, alpha, beta, 10**9),
                    "Messages leave whole. What is `chunk` for?",
                ),
                (
                    otherwise(ready=False),
                    "A message leaves before it is ready. From which messages may the port choose at that time?",
                ),
                (
                    otherwise(full=True),
                    "The last chunk of a message takes the time of a full one. How many kB are left of it?",
                ),
                (
                    otherwise(again=0),
                    "Only the first chunk of a message costs alpha. What does each cost?",
                ),
                (
                    otherwise(late=True),
                    "What becomes ready just when the port is free is ready. Less, or less or equal?",
                ),
                (
                    otherwise(order=lambda message, sent: (message[1], sent, message[0])),
                    "Two messages of one queue take turns, chunk by chunk. Which of the two was ready first? It stays "
                    "in front.",
                ),
                (
                    otherwise(order=lambda message, sent: (message[1],)),
                    "Of two messages of one queue the one that stands first in the list leaves first, though the other "
                    "has waited longer.",
                ),
                (
                    otherwise(order=lambda message, sent: (message[1], -message[0])),
                    "Of two messages of one queue the younger leaves first. Which was ready first?",
                ),
                (
                    interrupted,
                    "A chunk is interrupted when something more urgent becomes ready. A port cannot stop in the middle "
                    "of one: look again when the chunk is through.",
                ),
                (
                    from_when_it_is_ready,
                    "A chunk leaves when its message is ready, though the port is still busy with another. It can "
                    "start after the chunk before it.",
                ),
                (
                    lambda *given: [seconds - message[0] for seconds, message in zip(port(*given), given[0])],
                    "That is how long each takes from when it is ready. The time on the clock is asked for.",
                ),
                (
                    lambda *given: sorted(port(*given)),
                    "These are the right times in another order: entry i is that of message i.",
                ),
            ],
            otherwise="Write down a line for each chunk: when it starts, which messages are ready then, which of them "
            "leaves, how many kB, and when it is through. Compare with yours where the first time differs.",
            seen=first_that_differs,
            form=no_times,
            read=lambda result: list(result),
            could=so_far(FIXED, lambda got, given: list(got) == port(*given)),
        )
    ],
    endings={
        "cpu": "It does not come to an end. Is what has been sent taken away from what is left? And if no message is "
        "ready: when is the next one? Go on from there.",
        "empty": "At some time no message is ready. When is the next one? Go on from there.",
    },
    hints=[
        "Keep the time, and what is left of each message. What happens between two looks at the queues?",
        "One round: if nothing is ready, move the time to where something is. Of what is ready choose the smallest "
        "(queue, ready, place in the list). Send min(chunk, left) of it.",
        "min(..., key=lambda i: (queue of i, ready of i)) takes the first of equals. Then the time goes on by alpha + "
        "size * beta, and that is also when this message is through, if nothing is left of it.",
    ],
)
