"""Level 3 of chapter 13, write: the best interval, ranges of bytes, a detector, a vote, samples of an elastic run."""

import itertools
import math
from typing import NamedTuple

from exercises.grading import Exercise, Finding, inputs
from exercises.grading.numbers import NOTHING, Number, listed, short
from exercises.grading.returns import Returns

# The best interval ---------------------------------------------------------------------------------------------------

NEAR = 1e-3  # relative: what the text asks for


def optimum(C, R, M):
    """Where the derivative of (exp((T + C) / M) - 1) / T is 0: exp((T + C) / M) (1 - T / M) = 1, with u = T / M."""
    low, high = 0.0, 1.0
    for _ in range(200):
        u = (low + high) / 2
        low, high = (u, high) if u < 1 and C / M + u + math.log1p(-u) > 0 else (low, u)
    return low * M


def higher_order(C, R, M):
    """Daly's estimate of higher order."""
    if C >= 2 * M:
        return M
    x = math.sqrt(C / (2 * M))
    return math.sqrt(2 * C * M) * (1 + x / 3 + x * x / 9) - C


def no_time(case, results):
    """One number above 0."""
    (got,) = results
    if got is None:
        return NOTHING
    if isinstance(got, bool) or not isinstance(got, int | float):
        return Finding(f"it returned {short(got)}.", "Return one number, the time of work.")
    if not (math.isfinite(got) and got > 0):
        return Finding(f"it returned {got:.6g}.", "The work between two checkpoints takes a time above 0.")
    return None


def price_of(C, R, M, T):
    """Time for each unit of work, restarts left out."""
    return M / T * math.expm1((T + C) / M) if T < 700 * M else math.inf


def interval_seen(case, results, right):
    """Both, and what they cost."""
    (C, R, M), (got,), (want,) = case.arguments[0], results, right
    more = price_of(C, R, M, got) / price_of(C, R, M, want) - 1 if C < 700 * M else math.inf
    cost = f" It costs {more:.2g} more time." if more < 10 else ""
    return f"it returned {got:.6g}; right is {want:.6g}.{cost}"


def some_interval(rng):
    M = float(rng.integers(2000, 90000))
    return M * float(rng.uniform(0.02, 0.4)), float(rng.integers(0, 2000)), M


best_interval = Exercise(
    cases=inputs.calls(
        (0.5, 1, 24),
        (0.5, 0, 24),
        (30, 5, 60),
        (100, 10, 90),
        (300, 600, 86400),
        (60, 300, 3 * 3600),
        some_interval,
        some_interval,
        (50, 0, 20),
        (1e-3, 1, 900),
        (40_000, 60, 25),
        names="C R M",
    ),
    checks=[
        Returns(
            optimum,
            slips=[
                (
                    lambda C, R, M: math.sqrt(2 * C * M),
                    "That is Young's rule, sqrt(2 C M). It was derived for C far below M, and takes neither what a "
                    "failure during a checkpoint costs nor a second failure into account.",
                ),
                (
                    lambda C, R, M: math.sqrt(2 * C * M) - C,
                    "That is Daly's rule of first order, sqrt(2 C M) - C. It is a thousandth off as soon as C is no "
                    "longer far below M.",
                ),
                (
                    higher_order,
                    "That is Daly's rule of higher order. It is close while C is a small part of M, and M is only a "
                    "guess above. The least of a function can be searched for.",
                ),
                (
                    lambda C, R, M: math.sqrt(2 * C * (M + R)) - C,
                    "That is Daly's rule of first order, with M + R in it. How does R come into the time that is "
                    "given? As a factor that T does not change.",
                ),
                (
                    lambda C, R, M: optimum(C, R, M) + C,
                    "That is the whole cycle. T is the work, without the checkpoint behind it.",
                ),
                (
                    lambda C, R, M: M,
                    "M is where it tends to if checkpoints are very long. Which T is best for the C that is given?",
                ),
                (
                    lambda C, R, M: math.sqrt(C * M),
                    "The 2 is missing, and sqrt(2 C M) is an approximation itself.",
                ),
            ],
            otherwise="A long job does work in portions of T. So which quotient is to be least: the average time of a "
            "portion, divided by what?",
            seen=interval_seen,
            form=no_time,
            same=lambda one, other: abs(one - other) <= NEAR * other,
        )
    ],
    endings={
        "OverflowError": "exp of a large number: C may be longer than M. R and C are constant factors, and whether the "
        "least is on the left or on the right can be said by logarithms, too.",
        "math domain": "The logarithm of 0: T has come so near to M that 1 - T / M is 0. Fifty halvings are enough.",
        "cpu": "A scan over all T takes too long. On one side of the best T the time falls, on the other it rises: "
        "halve, or take thirds.",
    },
    hints=[
        "Write down the time for one unit of work: the given average, divided by T. Which factors do not matter?",
        "(exp((T + C) / M) - 1) / T falls up to the best T and rises behind it. The best T is below M: why?",
        "Its derivative is 0 where exp((T + C) / M) (1 - T / M) = 1. As logarithms: C / M + u + log(1 - u) = 0 with u "
        "= T / M. The left side falls with u, so halve between 0 and 1.",
    ],
)


# Ranges of bytes -----------------------------------------------------------------------------------------------------


def overlap(one, other):
    """(first, end) of what two ranges (first, n) have in common."""
    return max(one[0], other[0]), min(sum(one), sum(other))


def merged(ranges):
    """Sorted, and those joined that follow each other."""
    joined = []
    for file, first, n in sorted(ranges):
        if joined and joined[-1][0] == file and sum(joined[-1][1:]) == first:
            joined[-1][2] += n
        elif n:
            joined.append([file, first, n])
    return joined


def rows_of(files, itemsize, rows, columns, width=None, top=True, left=True):
    """A range for each row of each file that is needed, or what somebody takes for it."""
    for file, its_rows, its_columns in files:
        (first, end), (begin, stop) = overlap(its_rows, rows), overlap(its_columns, columns)
        stride = width or its_columns[1]
        if end <= first or stop <= begin:
            continue
        if stop - begin == stride and not width:  # whole rows: one range, however many they are
            offset = (first - its_rows[0] * top) * stride + begin - its_columns[0] * left
            yield [file, offset * itemsize, (end - first) * stride * itemsize]
            continue
        for row in range(first, end):
            offset = (row - its_rows[0] * top) * stride + begin - its_columns[0] * left
            yield [file, offset * itemsize, (stop - begin) * itemsize]


def ranges(*given):
    return merged(rows_of(*given))


def few(files, rows):
    """For mistakes that look at each row: nobody knows them by a matrix of millions of rows."""
    if rows[1] > 5000:
        raise ValueError("too many rows")
    return files


def row_by_row(files, itemsize, rows, columns):
    """The right bytes, in a range for each row."""
    each = [rows_of(few(files, rows), itemsize, (row, 1), columns) for row in range(rows[0], sum(rows))]
    return sorted(one for ranges_of_row in each for one in ranges_of_row)


def of_matrix(files, itemsize, rows, columns):
    """As if the rows of a file were as long as those of the matrix."""
    width = max(sum(its_columns) for _, _, its_columns in files)
    return merged(rows_of(few(files, rows), itemsize, rows, columns, width=width))


def whole_files(*given):
    return [
        [file, 0, r[1] * c[1] * given[1]] for file, r, c in sorted(given[0]) if file in {x[0] for x in ranges(*given)}
    ]


def first_to_last(*given):
    """One range a file, with all that lies between."""
    spans = {}
    for file, first, n in ranges(*given):
        begin, _ = spans.get(file, (first, 0))
        spans[file] = begin, first + n
    return [[file, first, end - first] for file, (first, end) in sorted(spans.items())]


def whole_rows(files, itemsize, rows, columns):
    """All columns of the rows that are needed."""
    every = (0, max(sum(its_columns) for _, _, its_columns in files))
    return ranges(files, itemsize, rows, every)


def no_ranges(case, results):
    """A list of three whole numbers each."""
    (got,) = listed(results)
    if not isinstance(got, list) or any(not isinstance(each, list) or len(each) != 3 for each in got):
        return Finding(f"it returned {short(got)}.", "Return a list of (file, first, n).")
    if strange := [n for each in got for n in each if type(n) is not int]:
        return Finding(f"there is {strange[0]!r} in it.", "Bytes and files are counted in whole numbers.")
    if empty := [each for each in got if each[2] <= 0]:
        return Finding(
            f"there is a range {tuple(empty[0])}.",
            "No range is empty. A file of which nothing is needed is not named: what says that two rectangles have "
            "nothing in common?",
        )
    return None


def ranges_seen(case, results, right):
    """The first range that is wrong, and how many bytes there are."""
    (got,), (want,) = results, right
    place = next((i for i, (one, other) in enumerate(zip(got, want)) if one != other), min(len(got), len(want)))
    mine, its = (tuple(each[place]) if place < len(each) else "no more" for each in (got, want))
    bytes_ = [sum(each[2] for each in one) for one in (got, want)]
    return f"range {place} is {mine}; right is {its}. All have {bytes_[0]:,} bytes; right are {bytes_[1]:,}."


def cut(rng, row_cuts, column_cuts):
    """The files of a matrix that is cut there, numbered at random."""

    def pieces(cuts):
        return [(first, end - first) for first, end in itertools.pairwise(cuts)]

    every = [(rows, columns) for rows in pieces(row_cuts) for columns in pieces(column_cuts)]
    numbers = rng.permutation(len(every))
    return [(int(number), *each) for number, each in zip(numbers, every)]


def wants(row_cuts, column_cuts, rows, columns, itemsize=4):
    return lambda rng: (cut(rng, row_cuts, column_cuts), itemsize, rows, columns)


def some_ranges(rng):
    """Uneven cuts, and any rectangle."""

    def cuts(n):
        return [0, *sorted(int(each) for each in rng.choice(range(1, n), 3, replace=False)), n]

    def part(n):
        first = int(rng.integers(n))
        return first, int(rng.integers(1, n - first + 1))

    return cut(rng, cuts(12), cuts(15)), 2, part(12), part(15)


byte_ranges = Exercise(
    cases=inputs.calls(
        wants([0, 4], [0, 6], (1, 2), (2, 3)),
        wants([0, 3, 6], [0, 5], (2, 2), (0, 5), 8),
        wants([0, 4], [0, 3, 6], (0, 4), (2, 3)),
        wants([0, 2, 5], [0, 4, 7], (1, 3), (3, 2), 2),
        wants([0, 4, 8], [0, 8], (4, 4), (0, 8)),
        wants([0, 4, 8], [0, 8], (1, 0), (0, 8)),
        wants([0, 5, 9], [0, 7], (3, 1), (2, 4)),
        wants([0, 1, 2], [0, 1], (0, 2), (0, 1), 1),
        *[some_ranges] * 4,
        wants(list(range(0, 161, 10)), list(range(0, 97, 6)), (35, 90), (13, 60)),
        wants([0, 500_000, 10**6], [0, 400_000, 10**6], (300_000, 600_000), (400_000, 600_000), 2),
        names="files itemsize rows columns",
    ),
    checks=[
        Returns(
            ranges,
            slips=[
                (
                    lambda files, itemsize, rows, columns: ranges(files, 1, rows, columns),
                    "Those are elements. How many bytes has one of them?",
                ),
                (
                    lambda *given: [[file, first, first + n] for file, first, n in ranges(*given)],
                    "The third number is where the range ends. Asked for is how many bytes it has.",
                ),
                (
                    row_by_row,
                    "The right bytes, in too many reads. Where whole rows of a file are needed, one row follows the "
                    "other.",
                ),
                (
                    of_matrix,
                    "As if a row of the file was as long as a row of the matrix. The file has its own columns only.",
                ),
                (
                    whole_files,
                    "Whole files are read. Which part of each is needed?",
                ),
                (
                    first_to_last,
                    "One range for each file, with everything between the first and the last byte that is needed. What "
                    "lies between two rows is another rank's.",
                ),
                (
                    whole_rows,
                    "All columns of the rows are read. Which of them are needed?",
                ),
                (
                    lambda files, itemsize, rows, columns: merged(
                        rows_of(few(files, rows), itemsize, rows, columns, top=False)
                    ),
                    "The rows are counted from the first row of the matrix. In a file its own first row is row 0.",
                ),
                (
                    lambda files, itemsize, rows, columns: merged(
                        rows_of(few(files, rows), itemsize, rows, columns, left=False)
                    ),
                    "The columns are counted from the first column of the matrix. In a file its own first column is "
                    "column 0.",
                ),
                (
                    lambda files, itemsize, rows, columns: ranges(files, itemsize, (rows[0], rows[1] - 1), columns),
                    "The last row is missing. rows = (first, n) goes up to row first + n - 1.",
                ),
                (
                    lambda files, itemsize, rows, columns: ranges(files, itemsize, rows, (columns[0], columns[1] - 1)),
                    "The last column is missing. columns = (first, n) goes up to column first + n - 1.",
                ),
                (
                    lambda *given: [each for file, _, _ in given[0] for each in ranges(*given) if each[0] == file],
                    "The right ranges, in another order: ascending by file, then by byte.",
                ),
            ],
            otherwise="For each file: which rows and which columns does it have in common with the rank's rectangle, "
            "counted from its own first row and column? How many bytes lie before each of them in the file?",
            seen=ranges_seen,
            form=no_ranges,
            read=listed,
        )
    ],
    endings={
        "cpu": "It takes too long: where whole rows are needed, all of them are one range, however many they are.",
        "memory": "There are too many ranges: where whole rows are needed, all of them are one range.",
    },
    hints=[
        "Draw a file of 2 x 4 elements as a strip of 8 bytes. Where are its columns 1 and 2?",
        "In each direction two ranges overlap from the larger first to the smaller end. Subtract what the file begins "
        "with: row r and column c are at byte ((r - first row) x its columns + c - first column) x itemsize.",
        "If the overlap has all columns of the file, it is one range of so many rows. Otherwise it is one range a row. "
        "Sort in the end.",
    ],
)


# A detector ----------------------------------------------------------------------------------------------------------


def spread(intervals, less=0):
    """(mean, standard deviation) of some intervals, divided by n - less."""
    mean = math.fsum(intervals) / len(intervals)
    return mean, math.sqrt(math.fsum((each - mean) ** 2 for each in intervals) / (len(intervals) - less))


def between(arrivals):
    return [after - before for before, after in itertools.pairwise(arrivals)]


def later(x):
    """The probability that a normal number is above its mean by more than x standard deviations."""
    return math.erfc(x / math.sqrt(2)) / 2


def suspicion(arrivals, now, window, least, of=spread, tail=later, log=math.log10, floor=max, silence=None):
    """phi, or what somebody computes who has something else in its place."""
    mean, deviation = of(between(arrivals)[-window:])
    waited = now - arrivals[-1] if silence is None else silence(arrivals, now)
    chance = tail((waited - mean) / floor(deviation, least))
    return -log(chance) if chance else math.inf


def with_other(**parts):
    return lambda *given: suspicion(*given, **parts)


def beats(n, deviation, silence, window=100, least=0.001, mean=1.0):
    """Heartbeats with some spread, and a silence of so many deviations above the mean."""

    def draw(rng):
        seconds, arrivals = 0.0, []
        for _ in range(n):
            seconds += float(max(mean + deviation * rng.standard_normal(), mean / 10))
            arrivals.append(seconds)
        middle, spread_ = spread(between(arrivals)[-window:])
        return arrivals, arrivals[-1] + middle + silence * max(spread_, least), window, least

    return draw


NO_DIGITS = "1 - 0.99999... has lost its digits, in the end all of them. math.erfc gives the small probability itself."

phi = Exercise(
    cases=inputs.calls(
        ([10.0, 11.0, 12.5, 13.0, 14.5], 16.5, 100, 0.125),
        ([0.0, 1.0, 3.0], 4.25, 10, 0.01),
        beats(12, 0.2, 2.0),
        beats(9, 0.2, -0.5),
        ([0.0, 4.0, 8.0, 9.0, 10.5, 11.5, 13.0], 15.0, 4, 0.01),
        ([0.0, 1.0, 2.0, 3.0], 4.5, 10, 0.25),
        ([2.0, 3.0], 4.25, 3, 0.5),
        beats(30, 0.1, 8.0, window=20),
        beats(40, 0.15, 30.0, window=30),
        beats(30, 0.05, 20.0, window=25, least=0.1),
        beats(5000, 0.3, 5.0, window=1000),
        names="arrivals now window least",
    ),
    checks=[
        Number(
            suspicion,
            slips=[
                (
                    with_other(log=math.log),
                    "That is the natural logarithm. phi counts in powers of ten: 8 says one time in 10^8.",
                ),
                (
                    with_other(tail=lambda x: math.erfc(x / math.sqrt(2))),
                    "Twice the probability: it has the intervals in it that are so much shorter than the mean. Only "
                    "longer ones count.",
                ),
                (
                    with_other(tail=lambda x: math.erfc(x) / 2),
                    "erfc counts in other units than standard deviations: its argument is divided by sqrt(2).",
                ),
                (
                    with_other(tail=lambda x: later(-x)),
                    "That is the probability that an interval is shorter than the silence. It goes to 1 if the silence "
                    "gets longer, and phi to 0.",
                ),
                (
                    with_other(of=lambda intervals: spread(intervals, 1)),
                    "Divided by n - 1. The text has the mean of the squared distances, over all of them.",
                ),
                (
                    lambda arrivals, now, window, least: suspicion(arrivals, now, len(arrivals), least),
                    "All intervals count. A detector that follows its network forgets: the last `window` ones count.",
                ),
                (
                    lambda arrivals, now, window, least: suspicion(arrivals[-window:], now, window, least),
                    "That many arrivals have one interval less between them. `window` counts intervals.",
                ),
                (
                    with_other(silence=lambda arrivals, now: now - arrivals[0]),
                    "That is the time since the first heartbeat. The silence began with the last one.",
                ),
                (
                    with_other(silence=lambda arrivals, now: now),
                    "`now` is a moment, as the arrivals are. How long has it been silent?",
                ),
                (
                    with_other(of=lambda intervals: (spread(intervals)[0], spread(intervals)[1] ** 2)),
                    "Divided by the variance. The root is missing.",
                ),
                (
                    with_other(floor=lambda deviation, least: deviation),
                    "The deviation is less than the least one there may be. Regular heartbeats would make a detector "
                    "suspect everybody that is a little late.",
                ),
                (
                    with_other(floor=lambda deviation, least: deviation + least),
                    "The least deviation was added. It counts only where the measured one is less.",
                ),
                (
                    with_other(floor=lambda deviation, least: least),
                    "Always the least deviation. Those of the heartbeats count, if they are larger.",
                ),
                (
                    with_other(of=lambda intervals: (0.0, spread(intervals)[1])),
                    "The silence is compared with the deviation alone. By how much is it longer than the mean "
                    "interval?",
                ),
                (with_other(tail=lambda x: (1 - math.erf(x / math.sqrt(2))) / 2), NO_DIGITS),
                (with_other(tail=lambda x: 1 - (1 + math.erf(x / math.sqrt(2))) / 2), NO_DIGITS),
                (
                    lambda *given: -suspicion(*given),
                    "The sign: a probability is below 1, and its logarithm below 0.",
                ),
            ],
            otherwise="How many standard deviations is the silence above the mean? With which probability is an "
            "interval even longer? And phi is -log10 of that.",
        )
    ],
    endings={
        "math domain": NO_DIGITS,
        "ZeroDivisionError": "Intervals that are all equal have the deviation 0. What is it taken to be then?",
    },
    hints=[
        "Arrivals at 0, 1, 2.5 and 3: which intervals are there, what are their mean and their deviation? How long is "
        "the silence at 5?",
        "intervals = differences of neighbours, the last `window` of them. x = (now - last arrival - mean) / "
        "deviation.",
        "-log10(erfc(x / sqrt(2)) / 2), where the deviation is max(deviation, least).",
    ],
)


# A vote --------------------------------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """The arguments, one by one."""

    term: int
    voted_for: int | None
    log: list
    its_term: int
    candidate: int
    last_index: int
    last_term: int

    @property
    def own(self):
        """(term, index) of the own last entry."""
        return (self.log[-1] if self.log else 0), len(self.log)

    @property
    def its(self):
        return self.last_term, self.last_index


def at_least_as_far(g):
    return g.its >= g.own


def not_taken(g, voted_for):
    return voted_for in (None, g.candidate)


def voting(new=lambda g: g.its_term > g.term, over=lambda g: g.its_term < g.term, free=not_taken, far=at_least_as_far):
    """The rule, or one with something else in its place."""

    def answer(term, voted_for, log, request):
        g = Asked(term, voted_for, log, *request)
        if over(g):
            return [False, term, voted_for]
        if new(g):
            term, voted_for = g.its_term, None
        granted = free(g, voted_for) and far(g)
        return [granted, term, g.candidate if granted else voted_for]

    return answer


right_vote = voting()


def stays(term, voted_for, log, request):
    """As if a node that refuses stayed in its term."""
    granted, *now = right_vote(term, voted_for, log, request)
    return [granted, *now] if granted else [granted, term, voted_for]


def still_taken(term, voted_for, log, request):
    """As if the vote of a term counted in the next one."""
    g = Asked(term, voted_for, log, *request)
    granted = g.its_term >= term and not_taken(g, voted_for) and at_least_as_far(g)
    return [granted, max(term, g.its_term), g.candidate if granted else voted_for]


def noted_anyway(*given):
    """As if who is refused had got the vote."""
    granted, term, voted_for = right_vote(*given)
    return [granted, term, given[3][1] if given[3][0] >= given[0] else voted_for]


def term_of_request(*given):
    granted, _, voted_for = right_vote(*given)
    return [granted, given[3][0], voted_for]


def no_vote(case, results):
    (got,) = listed(results)
    if not isinstance(got, list) or len(got) != 3:
        return Finding(f"it returned {short(got)}.", "Return three things: (granted, term, voted_for).")
    if got[0] not in (True, False):
        return Finding(f"granted is {got[0]!r}.", "It is True or False.")
    return None


def vote_seen(case, results, right):
    (got,), (want,) = results, right
    return f"it returned {tuple(got)}; right is {tuple(want)}."


def some_vote(rng):
    """Small numbers, so that they are often equal."""
    log = sorted(int(each) for each in rng.integers(1, 4, int(rng.integers(0, 4))))
    term = max([*log, int(rng.integers(1, 5))])
    voted_for = [None, 0, 1, 2][int(rng.integers(4))]
    its_term = int(rng.integers(1, 7))
    last_index = int(rng.integers(0, 5))
    last_term = int(rng.integers(1, its_term + 1)) if last_index else 0
    return term, voted_for, log, (its_term, int(rng.integers(3)), last_index, last_term)


vote = Exercise(
    cases=inputs.calls(
        (3, None, [1, 1, 3], (3, 2, 3, 3)),
        (3, 1, [1, 1, 3], (3, 2, 3, 3)),
        (3, 2, [1, 1, 3], (3, 2, 3, 3)),
        (3, 1, [1, 1, 3], (4, 2, 3, 3)),
        (3, 0, [1, 1, 3], (3, 2, 4, 3)),
        (3, None, [1, 1, 2], (4, 2, 3, 3)),  # from here on the logs: each case is for one mistake more
        (3, None, [1, 1, 3], (3, 2, 2, 2)),
        (3, None, [1, 1, 3], (3, 0, 2, 3)),
        (3, None, [1, 1, 3], (4, 2, 2, 2)),
        (3, None, [1, 1, 3], (4, 2, 3, 2)),
        (3, None, [1, 1, 3], (5, 2, 7, 2)),
        (3, None, [1, 1, 2], (4, 2, 2, 3)),
        (3, 1, [1, 1, 3], (4, 2, 2, 3)),
        (3, None, [1, 1, 3], (2, 2, 5, 3)),
        (1, None, [], (1, 0, 0, 0)),
        (2, None, [1], (2, 1, 0, 0)),
        (2, None, [], (2, 1, 1, 1)),
        (2, 0, [1], (5, 0, 0, 0)),
        *[some_vote] * 20,
        ((7, None, [*[1] * 3000, *[6] * 2000], (8, 1, 4999, 6))),
        ((7, None, [*[1] * 3000, *[6] * 2000], (8, 1, 4000, 7))),
        names="term voted_for log request",
    ),
    checks=[
        Returns(
            right_vote,
            slips=[
                (
                    voting(free=lambda g, voted_for: not voted_for or voted_for == g.candidate),
                    "Candidate 0 counts as nobody: `not 0` is True. A node that has voted for 0 has voted.",
                ),
                (
                    voting(free=lambda g, voted_for: True),
                    "It votes a second time in one term, for another candidate. Two could win the same election, and "
                    "each would believe to be the only leader.",
                ),
                (
                    voting(free=lambda g, voted_for: voted_for is None),
                    "The candidate that has this node's vote already asks again: its first answer may have been lost. "
                    "It gets the same answer.",
                ),
                (
                    still_taken,
                    "A vote counts for its term. In a later term the node has not voted yet.",
                ),
                (
                    stays,
                    "It refuses and stays in its old term. Whoever hears of a later term goes on to it, and has not "
                    "voted there.",
                ),
                (
                    voting(over=lambda g: False),
                    "A vote in a term that is over. A candidate with an old term must not win any more.",
                ),
                (
                    voting(far=lambda g: g.last_term >= g.own[0] and g.last_index >= len(g.log)),
                    "Both were asked for. A shorter log whose last entry is of a later term is ahead.",
                ),
                (
                    voting(far=lambda g: (g.last_index, g.last_term) >= g.own[::-1]),
                    "The lengths were compared first. The terms of the last entries come first, the lengths only if "
                    "these are equal.",
                ),
                (
                    voting(far=lambda g: g.last_index >= len(g.log)),
                    "The lengths alone were compared. A long log may be one of old entries that never were committed: "
                    "the terms of the last entries come first.",
                ),
                (
                    voting(far=lambda g: (g.its_term, g.last_index) >= g.own),
                    "The candidate's own term was compared. It says nothing about its log: that has the term of its "
                    "last entry.",
                ),
                (
                    voting(far=lambda g: g.last_term >= g.own[0]),
                    "With equal terms of the last entries the longer log is ahead. The lengths were not compared.",
                ),
                (
                    voting(far=lambda g: True),
                    "The candidate's log is behind the own one. As a leader it would overwrite entries that are "
                    "committed.",
                ),
                (
                    voting(far=lambda g: g.its <= g.own),
                    "It votes for those whose log is behind, and refuses those that are ahead.",
                ),
                (
                    voting(far=lambda g: g.its > g.own),
                    "A log that is as far as the own one is not behind it. Otherwise nodes with equal logs would elect "
                    "nobody.",
                ),
                (
                    noted_anyway,
                    "Who is refused has not got the vote: another candidate may still get it in this term.",
                ),
                (
                    term_of_request,
                    "The term went back. Terms only grow.",
                ),
            ],
            otherwise="In this order: is the candidate's term over? Is it new, and what does the node forget then? Has "
            "its vote been given? Whose log is ahead?",
            seen=vote_seen,
            form=no_vote,
            read=listed,
        )
    ],
    endings={"IndexError": "An empty log has no last entry: its index and its term are 0."},
    hints=[
        "A node in term 3 has voted for 1. Candidate 2 asks in term 3, then in term 4. What does it get each time?",
        "Compare (term of the last entry, length) of both logs, in this order. Python compares tuples so.",
        "Older term: refuse. Later term: take it over, voted_for = None. Then grant if voted_for is None or this "
        "candidate, and its (last_term, last_index) is not below the own one.",
    ],
)


# Samples of an elastic run -------------------------------------------------------------------------------------------


def before(changes, step, ranks=lambda changes, i: changes[i][1], late=0):
    """Rank-steps before a step."""
    ends = [first + late * (first > 0) for first, _ in changes[1:]] + [math.inf]
    begins = [first + late * (first > 0) for first, _ in changes]
    spans = (max(0, min(end, step) - begin) for begin, end in zip(begins, ends))
    return sum(int(span) * ranks(changes, i) for i, span in enumerate(spans))


def at(changes, step, late=0):
    """How many ranks take part in a step."""
    return next(ranks for first, ranks in reversed(changes) if first + late * (first > 0) <= step)


def read_from(first, each, n):
    return [[i // n, i % n] for i in range(first, first + each)]


def elastic(changes, each, n, step, rank):
    return read_from((before(changes, step) + rank) * each, each, n)


def ever_as_now(changes, each, n, step, rank):
    return read_from((step * at(changes, step) + rank) * each, each, n)


def ever_as_first(changes, each, n, step, rank):
    return read_from((step * changes[0][1] + rank) * each, each, n)


def one_step_off(late):
    return lambda changes, each, n, step, rank: read_from((before(changes, step, late=late) + rank) * each, each, n)


def with_later_changes(changes, each, n, step, rank):
    """As if a change behind this step took back what the one before has given too much."""
    ends = [first for first, _ in changes[1:]] + [step]
    portions = sum((min(end, step) - first) * ranks for (first, ranks), end in zip(changes, ends))
    return read_from((portions + rank) * each, each, n)


def dealt(changes, each, n, step, rank):
    first, ranks = before(changes, step) * each, at(changes, step)
    return [[(first + i * ranks + rank) // n, (first + i * ranks + rank) % n] for i in range(each)]


def whole_steps(changes, each, n, step, rank):
    """As if an epoch ended with the last step that it has room for."""
    if step > 10**4:
        raise ValueError("too many steps")
    epoch = place = 0
    for s in range(step + 1):
        size = at(changes, s) * each
        if size > n:
            raise ValueError("a step is longer than an epoch")
        epoch, place = (epoch + 1, 0) if place + size > n else (epoch, place)
        place += size
    return [[epoch, place - size + rank * each + i] for i in range(each)]


def one_epoch(changes, each, n, step, rank):
    """As if all samples of a step were of the epoch in which it begins."""
    first = before(changes, step) * each
    return [[first // n, (first + rank * each + i) % n] for i in range(each)]


def all_of_step(changes, each, n, step, rank):
    return read_from(before(changes, step) * each, each * at(changes, step), n)


def no_samples(case, results):
    (got,) = listed(results)
    if not isinstance(got, list) or any(not isinstance(pair, list) or len(pair) != 2 for pair in got):
        return Finding(f"it returned {short(got)}.", "Return a list of pairs (epoch, place).")
    if strange := [number for pair in got for number in pair if type(number) is not int]:
        return Finding(f"there is {strange[0]!r} in it.", "Whole numbers: // in place of /.")
    return None


def samples_seen(case, results, right):
    (got,), (want,) = results, right
    return f"it returned {ends_of(got)}; right is {ends_of(want)}."


def ends_of(pairs):
    return f"{tuple(pairs[0])} to {tuple(pairs[-1])}, {len(pairs):,} of them" if pairs else "none"


def some_changes(rng):
    changes, step = [(0, int(rng.integers(2, 9)))], 0
    for _ in range(int(rng.integers(1, 5))):
        step += int(rng.integers(1, 30))
        changes.append((step, int(rng.integers(2, 9))))
    step = int(rng.integers(step + 20))
    return changes, int(rng.integers(1, 6)), int(rng.integers(50, 99)), step, int(rng.integers(at(changes, step)))


def many_changes(rng):
    """A rank goes and another comes, 600 times."""
    changes = [(7 * i, 64 - i % 5) for i in range(600)]
    return changes, 4, 50_000, 7 * 599 + int(rng.integers(50)), int(rng.integers(60))


elastic_samples = Exercise(
    cases=inputs.calls(
        ([(0, 4), (10, 3)], 3, 1000, 12, 2),
        ([(0, 4), (10, 3)], 2, 1000, 10, 2),
        ([(0, 4), (10, 3)], 2, 1000, 9, 3),
        ([(0, 4), (10, 3), (25, 6)], 5, 1000, 40, 4),
        ([(0, 4), (10, 3), (25, 6)], 5, 1000, 14, 0),
        ([(0, 2), (1, 3)], 2, 7, 1, 1),
        ([(0, 3)], 4, 25, 6, 1),
        ([(0, 3)], 4, 25, 2, 0),
        ([(0, 2), (3, 4)], 5, 8, 4, 3),
        ([(0, 1)], 1, 5, 0, 0),
        *[some_changes] * 6,
        many_changes,
        ([(0, 128), (10**6, 120), (10**11, 127)], 1200, 10**9 + 7, 10**12, 126),
        names="changes each n step rank",
    ),
    checks=[
        Returns(
            elastic,
            slips=[
                (
                    ever_as_now,
                    "As if there had always been as many ranks as now. When their number changes, samples are then "
                    "left out, or read twice.",
                ),
                (
                    ever_as_first,
                    "As if there had always been as many ranks as in the beginning. Behind a change, steps are larger "
                    "or smaller.",
                ),
                (
                    one_step_off(1),
                    "Each change comes one step late: from its step on there are so many ranks, this step included.",
                ),
                (
                    one_step_off(-1),
                    "Each change comes one step early: the step before it still has the old ranks.",
                ),
                (
                    with_later_changes,
                    "Changes behind this step were counted, with a negative number of steps. They have not come yet.",
                ),
                (
                    dealt,
                    "Dealt out one by one. Here rank 0 has the first `each` samples of the step, rank 1 the next ones.",
                ),
                (
                    whole_steps,
                    "What is left of an epoch, too little for a step, was skipped. The step takes it, and goes on with "
                    "the next epoch.",
                ),
                (
                    one_epoch,
                    "Samples behind the end of the epoch belong to the next one.",
                ),
                (
                    lambda changes, each, n, step, rank: read_from(before(changes, step) * each, each, n),
                    "All ranks read the same samples.",
                ),
                (
                    lambda changes, each, n, step, rank: read_from(before(changes, step) * each + rank, each, n),
                    "Ranks begin one sample apart, so they read some of the same ones. A rank has `each` of them.",
                ),
                (
                    all_of_step,
                    "That is the whole step, of all ranks.",
                ),
                (
                    lambda *given: elastic(*given[:3], given[3] + 1, given[4]),
                    "A step too far: step 0 begins with sample 0.",
                ),
            ],
            otherwise="How many samples were read before this step, by all ranks? Then before this rank? Sample i is "
            "place i % n of epoch i // n.",
            seen=samples_seen,
            form=no_samples,
            read=listed,
        )
    ],
    endings={
        "cpu": "A loop over the steps takes too long: between two changes all steps have the same size.",
        "memory": "A list of all steps takes too much: between two changes all steps have the same size.",
    },
    hints=[
        "With changes [(0, 4), (10, 3)] and each = 2, how many samples do the steps 0 to 11 read together?",
        "Each change lasts up to the next one, or up to this step: steps times ranks times each. Changes behind this "
        "step do not count.",
        "first = (sum of steps x ranks + rank) x each; then [(i // n, i % n) for i in range(first, first + each)].",
    ],
)
