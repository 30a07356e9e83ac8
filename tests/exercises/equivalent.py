"""Mutants that compute the same as the solution they come from: no mistakes, so graders accept them. Each with why."""

BLOCK = "blocks[(rank - {} - step) % P]  ->  {} = blocks[rank - {} - step]"
BEGIN = "begin = [block * (n // P) + min(block, n % P) for block in range(P + {})]"
OTHERS = "others = [(rank {} step) % P for step in range({}, P)]"
SIZES = "sizes = [len(batch) // ranks + (r < len(batch) % ranks) for r in range({})]"
PUSHES = "pushes = [(count * time, worker) for worker, time in enumerate(seconds) for count in range(1, updates + {})]"
EXCHANGE = "comm.Sendrecv(x, {}=partner, recvbuf=other, {}=partner)"
WAITING = "waiting, g, status = (set(clock), np.empty_like(w), {})"
CAME = "came, went, status = ([0] * comm.size, [0] * comm.size, {})"
BITS = "for bit in reversed(range(d.bit_length(){})):"
MERGED = "o = (w1[:, None] * o1 + w2[:, None] * o2) / np.where(total > {}, total, 1.0)[:, None]"
DIVIDED = "return (o / np.where(total > {}, total, 1.0)[:, None], m + np.log(total))"
EARLY = "early = list(range({}))[rank * u:rank * u + u]"
ROOMS = "leaving, coming = (rooms[step % 2], rooms[(step {} 1) % 2])"
LAST = "return total + compute(comm, rooms[(comm.size {} 1) % 2])"
QUICKER = "return (tp, pp, 'TP' if tp_seconds {} pp_seconds else 'PP')"
PROOF = "p, columns, done, micro = (len(rows), len(rows[{}]), set(), set())"
WHEN = "p, columns, when = (len(rows), len(rows[{}]), {{}})"
CUTS = (
    "best = {{i: min(((max(slowest, upto[i] - upto[k]), [*sizes, i - k]) for k, (slowest, sizes) in best.items() if k "
    "{} i)) for i in range(r, N + 1)}}"
)
UPTO = "upto = [sum(seconds[:i]) for i in range({})]"
ROOM = "dy = np.empty_like(xs[{}])"
ZEROS = "dy = np.zeros(xs[{}].shape)"
DOWN = "comm.Sendrecv(y[warmup + i], {}=down, recvbuf=dy, {}=down)"
UP = "comm.Sendrecv(dx[i], {}=up, recvbuf=x[warmup + i + 1], {}=up)"
EACH = "for m in range(1, batch + {}):"
COMMON = "return [n for n in range(1, min(numbers) + {}) if not any((number % n for number in numbers))]"
PRICE = "seconds = (batch // d + p - 1) * micro_batch + gradients * {} / (t * p)"
LAST_BLOCK = "last = gradients{} / t / p"
SHIFTED = "all layouts take so many times gradients / N longer or shorter, so their order is the same"
TIMES = (
    "times = sorted({{Fraction(n, speed) for speed in set(speeds) for n in range(math.floor(latest * speed) + {})}})"
)
DIVISORS = "divisors = [n for n in range(1, N + {}) if N % n == 0]"
CHOSEN = "sizes = range(len(operators) + {})"
SUMS = "sums = list(itertools.accumulate([own + more for own, more in zip(inputs, internals)], initial={}))"
ROUNDS = "r = next((r for r in range({}) if {}))"

EQUIVALENT = {  # exercise: {mutant: why it is no mistake}
    "ring_reduce_scatter": {
        "leaving = "
        + BLOCK.format(1, "leaving", 1): "a negative index counts from the end, and this one is at least -P",
        "growing = " + BLOCK.format(2, "growing", 2): "the same",
        f"{BEGIN.format(1)}  ->  {BEGIN.format(2)}": "nobody reads the entry after the last",
        f"{BEGIN.format(1)}  ->  {BEGIN.format('1 + 1')}": "the same",
    },
    "binomial_broadcast": {
        "for k in range(me.bit_length(), P.bit_length()):  ->  for k in range(me.bit_length(), P):": "more rounds, in "
        "which nobody is left to be served",
    },
    "pairwise_alltoall": {
        "for step in range(1, P):  ->  for step in range(0, P):": "the own row is sent to oneself, too, which costs "
        "nothing, and arrives where it is already",
        f"{OTHERS.format('+', 1)}  ->  {OTHERS.format('+', 0)}": "the same",
        f"{OTHERS.format('+', 1)}  ->  {OTHERS.format('-', 1)}": "the other way round the circle",
    },
    # Chapter 2
    "my_share": {
        f"{SIZES.format('ranks')}  ->  {SIZES.format('ranks + 1')}": "nobody reads the size of one rank more",
    },
    "replicas_that_agree": {
        "if length > limit:  ->  if length >= limit:": "if they are equal, the factor is 1",
    },
    # Chapter 3
    "how_late": {
        f"{PUSHES.format(1)}  ->  {PUSHES.format(2)}": "the first of all are asked for, and no worker has more of them "
        "than there are",
    },
    "error_feedback": {
        "sent, e = ([], np.zeros_like(gradients[0]))  ->  sent, e = ([], np.zeros_like(gradients[-1]))": "all have the "
        "same length",
    },
    "top_k_sum": {
        "total, error = (np.zeros_like(p), p.copy())  ->  total, error = (np.zeros_like(p), p)": "nobody needs p any "
        "more",
    },
    "one_bit_sum": {
        "up = s * (2 * u - 1) < g  ->  up = s * (2 * u - 1) <= g": "u is never just the probability, and where all are "
        "0 the bits do not matter",
        "bits = np.packbits(2 * s * u < s + g)  ->  bits = np.packbits(2 * s * u <= s + g)": "the same",
    },
    "gossip_step": {
        f"{EXCHANGE.format('dest', 'source')}  ->  {EXCHANGE.format('source', 'dest')}": "both are the partner",
    },
    "bounded_staleness": {
        f"{WAITING.format('mpi.Status()')}  ->  {WAITING.format('mpi')}": "the virtual cluster writes the source into "
        "whatever it is given; real MPI refuses",
        f"{CAME.format('mpi.Status()')}  ->  {CAME.format('mpi')}": "the same",
    },
    "how_many_to_send": {
        f"{BITS.format('')}  ->  {BITS.format(' + 1')}": "that bit alone is more than d",
    },
    # Chapter 7
    "merge_two": {
        f"{MERGED.format(0)}  ->  {MERGED.format(1)}": "the larger weight is 1, so their sum is at least 1, or 0",
    },
    "blockwise_attention": {
        f"{DIVIDED.format(0)}  ->  {DIVIDED.format(1)}": "the largest weight of a row is 1",
    },
    "zigzag_positions": {
        f"{EARLY.format('s')}  ->  {EARLY.format('s + 1')}": "no early chunk comes so far",
        f"{EARLY.format('s')}  ->  {EARLY.format('s - 1')}": "the same",
    },
    "overlap_the_ring": {
        f"{ROOMS.format('+')}  ->  {ROOMS.format('-')}": "one more and one less are the same room of two",
        f"{LAST.format('-')}  ->  {LAST.format('+')}": "the same",
    },
    # Chapter 9
    "tp_or_pp": {
        f"{QUICKER.format('<')}  ->  {QUICKER.format('<=')}": "they are never equally quick",
    },
    "first_wrong_action": {
        f"{PROOF.format(0)}  ->  {PROOF.format(-1)}": "all rows have the same length",
        f"{WHEN.format(0)}  ->  {WHEN.format(-1)}": "the same",
    },
    "partition": {
        f"{CUTS.format('<')}  ->  {CUTS.format('<=')}": "an empty last stage is never quicker, and of equals the one "
        "with fewer layers before wins",
        f"{UPTO.format('N + 1')}  ->  {UPTO.format('N + 1 + 1')}": "nobody reads the sum after the last",
        f"{UPTO.format('N + 1')}  ->  {UPTO.format('N + 2')}": "the same",
    },
    "split_backward": {
        f"{ROOM.format(-1)}  ->  {ROOM.format(-2)}": "all have the same shape",
        f"{ROOM.format(-1)}  ->  {ROOM.format('-0')}": "the same",
        f"{ZEROS.format(-1)}  ->  {ZEROS.format(-2)}": "the same",
        f"{ZEROS.format(-1)}  ->  {ZEROS.format('-0')}": "the same",
    },
    "blocking_both_ways": {
        f"{DOWN.format('dest', 'source')}  ->  {DOWN.format('source', 'dest')}": "both are the same neighbour",
        f"{UP.format('dest', 'source')}  ->  {UP.format('source', 'dest')}": "the same",
        "dy = y[i].copy()  ->  dy = y[i]": "y[i] is not needed again; the last rank sends and receives nothing there",
    },
    "choose_micro_batches": {
        f"{EACH.format(1)}  ->  {EACH.format(2)}": "one more than there are samples does not divide them",
    },
    # Chapter 10
    "clip_by_global_norm": {
        "if norm > limit:  ->  if norm >= limit:": "if they are equal, the factor is 1",
    },
    "which_to_keep": {
        "best = [(0, [])] * (room + 1)  ->  best = [(-1, [])] * (room + 1)": "all begin with the same number, and only "
        "differences count",
        "best = [(0, [])] * (room + 1)  ->  best = [(1, [])] * (room + 1)": "the same",
        "best = [(0, [])] * (room + 1)  ->  best = [(0, [])] * (room + 2)": "nobody reads the entry after the last",
        "choices = [(0, 0, [])]  ->  choices = [(0, -1, [])]": "all begin with the same number, and only differences "
        "count",
        "choices = [(0, 0, [])]  ->  choices = [(0, 1, [])]": "the same",
    },
    "offload_schedule": {
        "now, row = (copied[i - room] if i >= room else 0, [])  ->  now, row = (copied[i - room] if i >= room else "
        "-1, [])": "the device is free from 0 on, which is later",
        "starts, copied, free = ([], [], [0] * 4)  ->  starts, copied, free = ([], [], [-1] * 4)": "nothing can begin "
        "before 0 anyway",
        "starts, copied, free = ([], [], [0] * 4)  ->  starts, copied, free = ([], [], [0] * 5)": "nobody reads "
        "the fifth",
    },
    # Chapter 11
    "plan_layout": {
        "for t in range(1, per_node + 1):  ->  for t in range(1, per_node + 2):": "more than a node does not divide it",
        "for p in range(1, layers + 1):  ->  for p in range(1, layers + 2):": "more than all divides nothing",
        "if seconds < shortest:  ->  if seconds <= shortest:": "of two that take equally long any will do",
        f"{COMMON.format(1)}  ->  {COMMON.format(2)}": "more than a number does not divide it",
        **{
            f"{PRICE.format('(d - 1) / d')}  ->  {PRICE.format(each)}": SHIFTED
            for each in ("(d + 1) / d", "d / d", "(d - 2) / d", "(d - 0) / d")
        },
        **{
            f"{LAST_BLOCK.format(' * (1 - 1 / d)')}  ->  {LAST_BLOCK.format(each)}": SHIFTED
            for each in ("", " * (1 + 1 / d)", " * 1", " * (1 - 2 / d)", " * (1 - 0 / d)")
        },
    },
    "new_shares": {
        f"{TIMES.format('1')}  ->  {TIMES.format('1 + 1')}": "nothing that ends later than now is looked for",
        f"{TIMES.format('1')}  ->  {TIMES.format('2')}": "the same",
    },
    "best_layout": {
        "for t in range(1, N + 1):  ->  for t in range(1, N + 2):": "more than N is no divisor",
        "for p in range(1, N // t + 1):  ->  for p in range(1, N // t + 2):": "more than N / t is no divisor",
        "if cost < best_cost:  ->  if cost <= best_cost:": "no two layouts take equally long",
        f"{DIVISORS.format(1)}  ->  {DIVISORS.format(2)}": "more than N is no divisor",
    },
    "few_evaluations": {
        "if took < shortest:  ->  if took <= shortest:": "no two layouts take equally long",
    },
    # Chapter 12
    "which_to_recompute": {
        "for bits in range(2 ** len(operators)):  ->  for bits in range(2 ** len(operators) + 1):": "one choice comes "
        "twice",
        "for bits in range(2 ** len(operators)):  ->  for bits in range(3 ** len(operators)):": "choices come again",
        "if seconds < fewest:  ->  if seconds <= fewest:": "of two that are as good any will do",
        f"{CHOSEN.format('1')}  ->  {CHOSEN.format('1 + 1')}": "there are no more names than all",
        f"{CHOSEN.format('1')}  ->  {CHOSEN.format('2')}": "the same",
    },
    "cut_chain": {
        "if peak < best[i]:  ->  if peak <= best[i]:": "of two that are as good any will do",
        **{f"{SUMS.format(0)}  ->  {SUMS.format(each)}": "only differences of sums count" for each in (1, -1)},
        "best = {n: (0, None)}  ->  best = {n: (1, None)}": "it counts only where the last group needs "
        "nothing, and then another cut is as good",
        "best = {n: (0, None)}  ->  best = {n: (-1, None)}": "no group needs less than nothing",
        "for i in range(n - 1, -1, -1):  ->  for i in range(n - 1, -2, -1):": "nobody follows what layer -1 has",
    },
    "fair_shares": {
        "full = {i for i in hungry if wants[i] <= unit * weights[i]}  ->  full = {i for i in hungry if wants[i] < unit "
        "* weights[i]}": "who wants just its part gets it either way",
    },
    "reverse_with_slots": {
        f"{ROUNDS.format('end', 'reach(s, r) >= end - first')}  ->  "
        f"{ROUNDS.format('end + 1', 'reach(s, r) >= end - first')}": "an r that is enough comes before",
        f"{ROUNDS.format('length', 'math.comb(s + r, s) >= length')}  ->  "
        f"{ROUNDS.format('length + 1', 'math.comb(s + r, s) >= length')}": "the same",
    },
    # Chapter 13
    "shrink_and_go_on": {
        "out[suspects] = 1  ->  out[suspects] = 2": "whatever is not 0 is out",
    },
    "best_interval": {
        **{
            f"for _ in range({n}):  ->  for _ in range({other}):": "a halving, or a step of Newton's, more or less"
            for n in (50, 30)
            for other in (n + 1, n - 1, f"{n} + 1", f"{n} - 1")
        },
        "if C / M + u + math.log1p(-u) > 0:  ->  if C / M + u + math.log1p(-u) >= 0:": "who hits the zero itself may "
        "go on to either side",
    },
    "vote": {
        "own = (log[-1] if log else 0, len(log))  ->  own = (log[-1] if log else -1, len(log))": "no log is behind an "
        "empty one, whatever its term is called",
        "own_term = log[-1] if log else 0  ->  own_term = log[-1] if log else -1": "the same",
        "ahead = last_index >= len(log) if last_term == own_term else last_term > own_term  ->  ahead = last_index >= "
        "len(log) if last_term == own_term else last_term >= own_term": "they differ there",
    },
    "elastic_samples": {
        "if first >= step:  ->  if first > step:": "a change at this step has had no steps before it",
        "if first < step:  ->  if first <= step:": "the same",
    },
    "save_changes": {
        "n, blocks = (len(weights), -(-len(weights) // size))  ->  n, blocks = (len(weights), --len(weights))": "more "
        "rows of zeros, which never change",
    },
    # Chapter 14
    "priorities_of_kernels": {
        "W, longer = (-1, blocked)  ->  W, longer = (-2, blocked)": "whatever is below the first wait begins the loop",
        "W, longer = (-1, blocked)  ->  W, longer = (-0, blocked)": "whatever is below the first wait begins the loop",
        "rest, order, blocked = (set(tasks), [], 0)  ->  rest, order, blocked = (set(tasks), [], 1)": "each C is 1 "
        "or more, so it is not below this",
        "rest, order, blocked = (set(tasks), [], 0)  ->  rest, order, blocked = (set(tasks), [], -1)": "each C is 1 "
        "or more, so it is not below this",
        "for release, more in sorted(((t, tasks[x][0]) for x in above for t in range(tasks[x][1], D + 1,"
        " tasks[x][1]))):  ->  for release, more in sorted(((t, tasks[x][0]) for x in above for t in ran"
        "ge(tasks[x][1], D - 1, tasks[x][1]))):": "who waits for so long is late in any case",
        "for release, more in sorted(((t, tasks[x][0]) for x in above for t in range(tasks[x][1], D + 1,"
        " tasks[x][1]))):  ->  for release, more in sorted(((t, tasks[x][0]) for x in above for t in ran"
        "ge(tasks[x][1], D, tasks[x][1]))):": "who waits for so long is late in any case",
        "for release, more in sorted(((t, tasks[x][0]) for x in above for t in range(tasks[x][1], D + 1,"
        " tasks[x][1]))):  ->  for release, more in sorted(((t, tasks[x][0]) for x in above for t in ran"
        "ge(tasks[x][1], D + 2, tasks[x][1]))):": "who waits for so long is late in any case",
        "for release, more in sorted(((t, tasks[x][0]) for x in above for t in range(tasks[x][1], D + 1,"
        " tasks[x][1]))):  ->  for release, more in sorted(((t, tasks[x][0]) for x in above for t in ran"
        "ge(tasks[x][1], D + 0, tasks[x][1]))):": "who waits for so long is late in any case",
    },
    "worst_response": {
        "R, longer = (0, C + B)  ->  R, longer = (-1, C + B)": "whatever is below the first window begins the loop",
        "R, longer = (0, C + B)  ->  R, longer = (0, C)": "the first step puts the blocking into the window",
        "windows = {D}.union(*(range(T - J % T, D, T) for _, T, J in above))  ->  windows = {D}.union(*("
        "range(T - J, D, T) for _, T, J in above))": "no window before 0 is long enough",
        "return None  ->  pass": "a function that ends gives None",
    },
    "too_much_demand": {
        "end = sum((Fraction(C, T) * max(0, T - D) for C, T, D in tasks)) / (1 - U)  ->  end = sum((Frac"
        "tion(C, T) * max(1, T - D) for C, T, D in tasks)) / (1 - U)": "a limit that is larger, or where no task has "
        "D above T the same",
        "end = sum((Fraction(C, T) * max(0, T - D) for C, T, D in tasks)) / (1 - U)  ->  end = sum((Frac"
        "tion(C, T) * max(-1, T - D) for C, T, D in tasks)) / (1 - U)": "a limit that is larger, or where no task "
        "has D above T the same",
        "end = sum((Fraction(C, T) * max(0, T - D) for C, T, D in tasks)) / (1 - U)  ->  end = sum((Frac"
        "tion(C, T) * max(0, T + D) for C, T, D in tasks)) / (1 - U)": "a limit that is larger, or where no task has "
        "D above T the same",
        "end = sum((Fraction(C, T) * max(0, T - D) for C, T, D in tasks)) / (1 - U)  ->  end = sum((Frac"
        "tion(C, T) * max(0, T) for C, T, D in tasks)) / (1 - U)": "a limit that is larger, or where no task has D "
        "above T the same",
        "points = {t for _, T, D in tasks for t in range(D, math.floor(end) + 1, T)}  ->  points = {t fo"
        "r _, T, D in tasks for t in range(D, math.floor(end), T)}": "demand is a whole number: where it is above t, "
        "the limit is t + 1 or more",
        "points = {t for _, T, D in tasks for t in range(D, math.floor(end) + 1, T)}  ->  points = {t fo"
        "r _, T, D in tasks for t in range(D, math.floor(end) + 2, T)}": "demand is a whole number: where it is "
        "above t, the limit is t + 1 or more",
        "points = {t for _, T, D in tasks for t in range(D, math.floor(end) + 1, T)}  ->  points = {t fo"
        "r _, T, D in tasks for t in range(D, math.floor(end) + 0, T)}": "demand is a whole number: where it is "
        "above t, the limit is t + 1 or more",
        "return None  ->  pass": "a function that ends gives None",
        "end, longer = (0, sum((C for C, _, _ in tasks)))  ->  end, longer = (1, sum((C for C, _, _ in t"
        "asks)))": "whatever is below the first period begins the loop",
        "end, longer = (0, sum((C for C, _, _ in tasks)))  ->  end, longer = (-1, sum((C for C, _, _ in "
        "tasks)))": "whatever is below the first period begins the loop",
        "return t if t <= end else None  ->  return t if t < end else None": "nothing is too much at the end of a "
        "busy period itself",
    },
    "oldest_data": {
        "oldest, (T, start_at, R) = (0, chain[-1])  ->  oldest, (T, start_at, R) = (1, chain[-1])": "each age is 1 "
        "or more",
        "oldest, (T, start_at, R) = (0, chain[-1])  ->  oldest, (T, start_at, R) = (-1, chain[-1])": "each age is 1 "
        "or more",
        "start = -sum((T + R for T, _, R in chain))  ->  start = -sum((T - R for T, _, R in chain))": "the chain has "
        "filled by then, with these tasks",
        "start = -sum((T + R for T, _, R in chain))  ->  start = -sum((T for T, _, R in chain))": "the chain has "
        "filled by then, with these tasks",
        "taken, register, oldest = ({}, {}, 0)  ->  taken, register, oldest = ({}, {}, 1)": "each age is 1 or more",
        "taken, register, oldest = ({}, {}, 0)  ->  taken, register, oldest = ({}, {}, -1)": "each age is 1 or more",
        "for release in range(begins + (start - begins) // T * T, 2 * H, T):  ->  for release in range(b"
        "egins + (start - begins) // T * T, 3 * H, T):": "more rounds, or enough of one, with the time before 0",
        "for release in range(begins + (start - begins) // T * T, 2 * H, T):  ->  for release in range(b"
        "egins + (start - begins) // T * T, 1 * H, T):": "more rounds, or enough of one, with the time before 0",
        "for release in range(begins + (start - begins) // T * T, 2 * H, T):  ->  for release in range(b"
        "egins + (start + begins) // T * T, 2 * H, T):": "more rounds, or enough of one, with the time before 0",
        "for release in range(begins + (start - begins) // T * T, 2 * H, T):  ->  for release in range(b"
        "egins + start // T * T, 2 * H, T):": "more rounds, or enough of one, with the time before 0",
        "events += [(release, 1, place, release), (release + R, 0, place, release)]  ->  events += [(rel"
        "ease, 2, place, release), (release + R, 0, place, release)]": "any number above 0 is behind a write",
    },
    "room_for_execution": {
        "in_time = bisect.bisect_left(range(1, D + 1), True, key=late)  ->  in_time = bisect.bisect_left(range("
        "1, D + 2), True, key=late)": "a time above the deadline fails, whichever",
    },
    "who_runs": {
        "for now in range(max((release for _, release, _ in tasks)) + sum((len(body) for _, _, body in tasks)))"
        ":  ->  for now in range(max((release for _, release, _ in tasks)) + sum((len(body) for _, _, body in t"
        "asks)) + 1):": "what is idle in the end is cut off",
        "who = held.get(parts[ready[0]][0][0], ready[0])  ->  who = held.get(parts[ready[0]][0][-1], rea"
        "dy[0])": "a section has one letter, in each place",
    },
    "shed_load": {
        "best = {0: (0, ())}  ->  best = {0: (1, ())}": "all values are higher by the same",
        "best = {0: (0, ())}  ->  best = {0: (-1, ())}": "all values are higher by the same",
        "if more <= H and (more not in found or value + worth > found[more][0]):  ->  if more <= H and ("
        "more not in found or value + worth >= found[more][0]):": "of equals either will do",
        "best, choices = (np.zeros(1001), [])  ->  best, choices = (np.zeros(1002), [])": "the last load is cut off",
        "if load <= 1000:  ->  if load <= 1001:": "a level that fills more than the processor shifts everything out",
    },
}

SPARED = {  # exercise: {how its solution is spoiled: why that is no mistake}
    # Chapter 2
    "bucket_limit": {"is right for few elements only": "its text promises 40 tensors at most"},
    "shares": {"is right for few elements only": "its text promises 1,000 ranks at most, and so many are tried"},
    # Chapter 9
    "partition": {"is right for few elements only": "there are a few hundred layers at most, and 300 are tried"},
    # Chapter 10
    "reduce_in_buckets": {
        "is right for few elements only": "its lists name parameters, and 2,501 elements are tried in five of them"
    },
    # Chapter 11
    "group_of": {"is right for few elements only": "its lists name axes; a group of 1,200 ranks is tried"},
    # Chapter 12
    "bytes_in_tier": {"is right for few elements only": "its list names tiers of memory; 200 trillion bytes are tried"},
    "which_to_recompute": {"is right for few elements only": "its text promises eight operators at most"},
    "cut_chain": {"is right for few elements only": "there are a few hundred layers at most, and 300 are tried"},
    # Chapter 13
    "shrink_and_go_on": {"is right for few elements only": "its list names ranks; 5,000 samples are tried"},
    "save_atomically": {"is right for few elements only": "it returns nothing; 150 files are tried"},
    # Chapter 14
    "worst_response": {"is right for few elements only": "its list names tasks above; times of 50 million are tried"},
    "too_much_demand": {"is right for few elements only": "its list names tasks; intervals of 100 million are tried"},
    "oldest_data": {"is right for few elements only": "its list names the tasks of a chain"},
    "room_for_execution": {"is right for few elements only": "its list names tasks above; a million ms are tried"},
    "who_runs": {"is right for few elements only": "its list names jobs"},
    "shed_load": {"is right for few elements only": "its text promises 80 tasks of 4 levels, and so many are tried"},
}
