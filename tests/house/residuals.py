"""What a page predicted beside what came out: pairs of numbers in the printed outputs of its cells.

Read are two columns of a table, a column of ratios, fields such as "24.3/24.1", two numbers on one line, and two lines
with the same numbers. A pair is (the line that it is on, what was said, what came out).
"""

import re
from collections.abc import Iterator

SAID = r"predicted|promised|(?:by |the )?formula|(?:the )?model"
CAME = r"simulated|measured|clock|counted|ran|seen|lost"
RATIO = r"ratio|/fit|(?:measured|simulated) / predicted"
NUMBER = r"[-+−]?\d[\d,]*(?:\.\d+)?(?:e[-+]?\d+)?"
FIELD = re.compile(r"\S+(?: \S+)*")  # columns are two blanks apart
VALUE = re.compile(r"[-+−.\d,]+%?(\s|$)")
APART = 0.1  # a residual that has to be explained

Pair = tuple[str, float, float]


def number(text: str) -> float | None:
    """The first number of a text, or None."""
    found = re.search(NUMBER, text)
    return float(found[0].replace(",", "").replace("−", "-")) if found else None


def kind(name: str) -> str:
    """Whether a column, or what a number is called, is "said", "came", "ratio", or neither; a unit may follow."""
    words = {"said": SAID, "came": CAME, "ratio": RATIO}
    return next((each for each, names in words.items() if re.fullmatch(rf"(?:{names})(?:,? \S+)?", name.strip())), "")


def below(head: re.Match, row: str) -> float | None:
    """The number of a row that stands under a head: of the field that ends nearest to where the head ends."""
    fields = list(FIELD.finditer(row))
    field = min(fields, key=lambda each: abs(each.end() - head.end()), default=None)
    return number(field[0]) if field and field.start() < head.end() and head.start() < field.end() else None


def partner(kinds: list[str], at: int) -> int | None:
    """The column that a column of predictions is compared with: a neighbour that came out, or what stands left."""
    near = [i for i in (at + 1, at - 1) if 0 <= i < len(kinds) and kinds[i] == "came"]
    return near[0] if near else at - 1 if at > 1 else None


def in_columns(lines: list[str]) -> Iterator[Pair]:
    """The pairs of two columns, and of a column of ratios, with a head above each."""
    heads: list[re.Match] = []
    for line in lines:
        fields = list(FIELD.finditer(line))
        if len(fields) < 2:
            heads = []
        elif any(kind(field[0]) for field in fields) and not any(VALUE.match(field[0]) for field in fields[1:]):
            heads = fields
        else:
            values = [below(head, line) for head in heads]
            kinds = [kind(head[0]) for head in heads]
            for at, (each, value) in enumerate(zip(kinds, values)):
                other = partner(kinds, at) if each == "said" else None
                if each == "ratio" and value is not None:
                    yield line.strip(), 1.0, value
                elif value is not None and other is not None and values[other] is not None:
                    yield line.strip(), value, values[other]


def in_fields(lines: list[str]) -> Iterator[Pair]:
    """The pairs of a table whose fields are two numbers, under the head "published/simulated"."""
    if lines and "published/simulated" in lines[0]:
        for line in lines[1:]:
            for came, said in re.findall(rf"({NUMBER})/({NUMBER})", line):
                yield line.strip(), number(said), number(came)


def on_one_line(line: str) -> Iterator[Pair]:
    """The pairs of a line that names both numbers, before or after them: "predicted 3.2, simulated 3.3"."""
    named: dict[str, float] = {}
    for each, names in (("said", SAID), ("came", CAME)):
        before = re.search(rf"\b(?:{names})\b:?\s+({NUMBER})", line)
        after = re.search(rf"({NUMBER})(?: \w{{1,3}})? (?:{names})\b", line)
        if found := before or after:
            named[each] = number(found[1])
    if len(named) == 2:
        yield line.strip(), named["said"], named["came"]


def on_two_lines(lines: list[str]) -> Iterator[Pair]:
    """The pairs of a line that begins with a name of predictions and the one before it, or after it."""
    labels = [(re.match(r"\s*([a-z]\w*)", line) or ["", ""])[1] for line in lines]
    numbers = [[number(each) for each in re.findall(NUMBER, line)] for line in lines]
    for at, label in enumerate(labels):
        if kind(label) == "said" or label == "simulated":
            near = [
                i for i in (at - 1, at + 1) if 0 <= i < len(lines) and labels[i] and len(numbers[i]) == len(numbers[at])
            ]
            for said, came in zip(numbers[at], numbers[near[0]] if near else []):
                yield lines[at].strip(), said, came


def pairs(text: str) -> list[Pair]:
    """All pairs of what a cell has printed."""
    lines = text.splitlines()
    alone = [pair for line in lines for pair in on_one_line(line)]
    return [*in_columns(lines), *in_fields(lines), *alone, *on_two_lines(lines)]


def residual(pair: Pair) -> float:
    """How far what came out is from what was said, relative to the latter."""
    _, said, came = pair
    return abs(came - said) / abs(said) if said else float(came != 0)
