"""Level 4 of chapter 13, repair: an atomic commit, saves of what has changed, and Raft's rule of what is committed."""

import numpy as np

from exercises.grading import Case, Exercise, Finding, checks, inputs
from exercises.grading.numbers import short
from exercises.grading.returns import Returns

# An atomic commit ----------------------------------------------------------------------------------------------------

OLD = "names 6.0, 6.1"  # the text of the old manifest


class Disk(list):
    """A folder of files. It is the list of what was done to it, so that this comes back as plain data."""

    def __init__(self, old):
        super().__init__()
        self.names = {"manifest", *old}

    def write(self, name, text):
        if not isinstance(name, str) or not isinstance(text, str):
            raise TypeError("a file has a name and a text")
        self.names.add(name)
        self.append(["write", name, text])

    def sync(self, name):
        self._there(name)
        self.append(["sync", name])

    def rename(self, name, new):
        self._there(name)
        self.names.discard(name)
        self.names.add(new)
        self.append(["rename", name, new])

    def remove(self, name):
        self._there(name)
        self.names.discard(name)
        self.append(["remove", name])

    def sync_folder(self):
        self.append(["sync_folder"])

    def _there(self, name):
        if name not in self.names:
            raise FileNotFoundError(f"there is no file {name!r} on the disk")


class Text:
    """The contents of a file: what was written last, and whether it is on the disk for good."""

    def __init__(self, text, safe=False):
        self.text, self.safe = text, safe


class Folder:
    """What may be on a disk after a crash: for each name all files that it may be the name of, None for no file.

    A change of names is a file under a name. After a crash the last one that was kept counts, so every one since the
    last sync_folder is possible, and the one before them.
    """

    def __init__(self, files):
        self.now = {name: Text(text, True) for name, text in files.items()}
        self.possible = {name: [file] for name, file in self.now.items()}

    def do(self, what, name="", more=""):
        if what == "write" and self.now.get(name):
            self.now[name].text, self.now[name].safe = more, False
        elif what == "write":
            self._call(name, Text(more))
        elif what == "sync":
            self.now[name].safe = True
        elif what == "rename":
            self._call(more, self.now[name])
            self._call(name, None)
        elif what == "remove":
            self._call(name, None)
        elif what == "sync_folder":
            self.possible = {name: [file] for name, file in self.now.items()}
        else:
            raise KeyError(what)

    def _call(self, name, file):
        self.possible.setdefault(name, [self.now.get(name)]).append(file)
        self.now[name] = file

    def loses(self, name, text):
        """How a crash may lose this text of this name: "torn", "name", or ""; "missing" if there is none."""
        if self.now.get(name) is None:
            return "missing"
        files = self.possible[name]
        if any(file is None for file in files):
            return "name"
        return "" if all(file.safe and file.text == text for file in files) else "torn"


MANIFEST_TORN = (
    "A manifest that is written over, or renamed before its text is safe, may be torn: then neither checkpoint can be "
    "loaded. Write it beside the old one, synchronize it, and only then give it the name."
)
SHARD_TORN = (
    "The new manifest may be there while a shard's text is not. Whatever a manifest names has to be safe before the "
    "manifest gets its name."
)
SHARD_NAMELESS = (
    "sync makes a file's text safe, not its name. A crash may keep the new name of the manifest and lose that of a "
    "shard, which was made earlier. What makes names safe?"
)
SHARD_MISSING = (
    "The new manifest is there before all shards are that it names. Who loads now, finds neither the old checkpoint "
    "nor the new one. What comes last?"
)
SHARD_LOST = {"missing": SHARD_MISSING, "torn": SHARD_TORN, "name": SHARD_NAMELESS}
OLD_GONE = (
    "The old shards were removed while the old manifest may still be the one that is found after a crash. From when on "
    "can it not come back?"
)
NOT_YET = (
    "The function has returned, and a crash may bring the old manifest back: the rename is not safe yet. Whoever was "
    "told that it is saved, is wrong."
)


def crash(folder, manifest, shards, before):
    """The hint for what a crash may do now, or None. `before`: the old checkpoint's shards."""
    for file in folder.possible["manifest"]:
        if file is None or not file.safe or file.text not in (OLD, manifest):
            return MANIFEST_TORN
        new = file.text == manifest
        losses = [folder.loses(name, text) for name, text in (shards if new else before).items()]
        if not new and any(losses):
            return OLD_GONE
        if new and any(losses):
            return next(hint for how, hint in SHARD_LOST.items() if how in losses)
    return None


def survived(case, answer):
    """No crash between two operations loses both checkpoints, and in the end the new one is there alone."""
    _, manifest, shards, old = case.arguments[0]
    (disk, *_) = answer.arguments[0]
    before = {name: f"text of {name}" for name in old}
    folder, folders = Folder({"manifest": OLD, **before}), 0
    for number, done in enumerate(disk, 1):
        try:
            folder.do(*done)
        except (AttributeError, KeyError, TypeError):  # this is no operation of a Disk
            return Finding("the disk was changed in another way than by its functions.", "Use disk.write and others.")
        folders += done[0] == "sync_folder"
        if hint := crash(folder, manifest, shards, before):
            shown = f"disk.{done[0]}({', '.join(repr(each)[:30] for each in done[1:2])})"
            return Finding(
                f"a crash after operation {number} of {len(disk)}, {shown}, may lose both checkpoints.", hint
            )
    return left(folder, manifest, shards, old, folders)


def left(folder, manifest, shards, old, folders):
    """What is wrong with the folder in the end."""
    found = {name: file.text for name, file in folder.now.items() if file}
    if found.get("manifest") == OLD:
        return Finding(
            "the manifest is still the old one.", "The new checkpoint counts from when its manifest is there."
        )
    if any(file.text == OLD for file in folder.possible["manifest"]):
        return Finding("after the return, a crash may bring the old manifest back.", NOT_YET)
    if stay := [name for name in old if name in found]:
        return Finding(f"{stay[0]} is still there.", "Once the new checkpoint is safe, the old shards only take room.")
    if more := sorted(found.keys() - shards.keys() - {"manifest"}):
        return Finding(f"there is a file {more[0]!r} in the end.", "Nothing but the new shards and the manifest stays.")
    if folders > 2:
        seen = f"sync_folder was called {checks.count(folders, 'time')}."
        return Finding(seen, "Each waits for the disk. When do names have to be safe: before what, and behind what?")
    return None


def commits(*rows):
    """Cases: how many shards the old checkpoint has, and how many the new one."""

    def cases(rng):
        for old, new in rows:
            step = int(rng.integers(8, 1000))
            names = [f"6.{i}" for i in range(old)]
            shards = {f"{step}.{i}": f"text {int(rng.integers(10**9))}" for i in range(new)}
            manifest = f"names {', '.join(list(shards)[:5])}, ..."
            shown = f"{checks.count(old, 'old shard')}, {checks.count(new, 'new shard')}"
            yield Case(shown, ((Disk(names), manifest, shards, names),))

    return cases


save_atomically = Exercise(
    cases=commits((2, 2), (2, 3), (1, 1), (0, 2), (4, 2), (120, 150)),
    checks=[survived],
    endings={
        "FileNotFoundError": "There is no file of this name now: one that was renamed or removed has lost its name.",
        "a file has a name": "disk.write(name, text) takes two texts.",
    },
    hints=[
        "Cross out one operation after another from behind: what does somebody find who loads then? Then cross out "
        "single ones that no sync has made safe.",
        "The rename of the manifest is the moment. Before it: all that it names, texts and names. Behind it: the name "
        "itself, and only then is the old one superfluous.",
        "Write and sync each shard; write and sync the manifest under another name; sync_folder; rename; sync_folder; "
        "remove the old shards.",
    ],
    in_place=True,
)


# Saves of what has changed -------------------------------------------------------------------------------------------


class Training:
    """step: adds one row of changes after the other to the weights, in place."""

    def __init__(self, changes):
        self.changes, self.done = changes, 0

    def __call__(self, weights):
        if self.done == len(self.changes):
            raise RuntimeError("there is no step left to do")
        weights += self.changes[self.done]
        self.done += 1

    def __repr__(self):
        return str(self.done)


def after(weights, changes):
    """The weights after each step."""
    return np.cumsum([weights, *changes], axis=0)[1:]


def changed(weights, changes, size, limit, compared=lambda saved, previous: saved, last=True, strict=True, whole=True):
    """What to save after each step: {block: values}; or what somebody saves who compares with something else."""
    saved, previous, saves = weights.copy(), weights.copy(), []
    count = -(-len(weights) // size) if last else len(weights) // size
    for now in after(weights, changes):
        save = {}
        for block in range(count):
            part = slice(block * size, (block + 1) * size)
            off = np.abs(now[part] - compared(saved, previous)[part])
            if off.max() > limit or (not strict and off.max() >= limit):
                save[block] = now[part].copy()
        for block, values in save.items():
            saved[block * size : (block + 1) * size] = values
        previous = now
        saves.append(save)
    return saves


def views(*given):
    """As if what was saved changed with the weights."""
    final = after(*given[:2])[-1] if len(given[1]) else given[0]
    return [{block: final[block * given[2] : (block + 1) * given[2]] for block in save} for save in changed(*given)]


def alike(one, other):
    return len(one) == len(other) and all(
        list(map(int, a)) == list(b) and all(np.array_equal(x, y) for x, y in zip(a.values(), b.values()))
        for a, b in zip(one, other)
    )


SAVES = [
    (
        lambda *given: changed(*given, compared=lambda saved, previous: previous),
        "Each step is compared with the step before. Changes that are each below the limit add up, and are never "
        "saved. Compare with what was saved last.",
    ),
    (
        lambda *given: [{} for _ in given[1]],
        "Nothing is ever saved: the weights are compared with themselves. `previous = weights` gives the array a "
        "second name, and makes no copy.",
    ),
    (
        views,
        "What was saved after an early step has the values of the last one: slices of an array are views, which change "
        "with it.",
    ),
    (
        lambda *given: changed(*given, last=False),
        "The last block has fewer elements, and is never saved.",
    ),
    (
        lambda *given: changed(*given, strict=False),
        "A block that is off by the limit exactly may stay as it is saved.",
    ),
    (
        lambda weights, changes, size, limit: changed(weights, changes, size, -1.0),
        "Everything is saved after each step. That is no incremental save.",
    ),
    (
        lambda weights, *rest: (
            changed(np.zeros_like(weights), [rest[0][0] + weights, *rest[0][1:]], *rest[1:]) if len(rest[0]) else []
        ),
        "As if nothing had been saved before the first step.",
    ),
    (
        lambda weights, changes, size, limit: changed(weights, changes, size, limit, compared=lambda s, p: weights),
        "Compared with the very first save, again and again. What has been saved since then counts.",
    ),
]


def saves_seen(case, answer):
    """The saves: form, what is right, known mistakes."""
    weights, step, steps, size, limit = case.arguments[0]
    (got,) = answer.results
    if not isinstance(got, list | tuple) or len(got) != steps or not all(isinstance(save, dict) for save in got):
        return Finding(f"it returned {short(got)}.", f"Return a list of {steps} dictionaries, one for each step.")
    if int(answer.arguments[0][1].text) != steps:
        return Finding(f"step was called {answer.arguments[0][1].text} times.", f"Do {steps} steps.")
    blocks = -(-len(weights) // size)
    for number, save in enumerate(got):
        for block, values in save.items():
            if not block.isdigit() or int(block) >= blocks:
                return Finding(
                    f"after step {number} there is a block {block}.", f"They are numbered 0 to {blocks - 1}."
                )
            want = min(size, len(weights) - int(block) * size)
            if not isinstance(values, np.ndarray) or values.shape != (want,) or values.dtype != np.float64:
                return Finding(
                    f"after step {number}, block {block} is {short(values)}.",
                    "The values of a block are an array of float64, with as many elements as the block has.",
                )
    given = weights, step.changes, size, limit
    want = changed(*given)
    if alike(sorted_saves(got), want):
        end = after(weights, step.changes)[-1] if steps else weights
        left = answer.arguments[0][0]
        if isinstance(left, np.ndarray) and np.array_equal(left, end):
            return None
        return Finding("the weights are other ones than those of the last step.", "Only step() changes the weights.")
    hints = (hint for slip, hint in SAVES if alike(sorted_saves(got), slip(*given)))
    number = next(i for i in range(steps) if not alike(sorted_saves(got[i : i + 1]), want[i : i + 1]))
    mine, its = (", ".join(map(str, sorted(map(int, save)))) or "none" for save in (got[number], want[number]))
    values = " with other values" * (mine == its)
    return Finding(f"after step {number} it saves the blocks {mine}{values}; right are {its}.", next(hints, UNSAVED))


UNSAVED = (
    "Keep a copy of what somebody has who has read all saves so far. Which blocks of the weights are off from it by "
    "more than the limit? Those are saved, and then the copy has them, too."
)


def sorted_saves(saves):
    return [dict(sorted(save.items(), key=lambda pair: int(pair[0]))) for save in saves]


def trainings(*rows):
    """Cases (elements, size of a block, steps, limit, share of the elements that change in a step, by how much)."""

    def cases(rng):
        for n, size, steps, limit, share, most in rows:
            far = rng.integers(-8, 9, (steps, n)) / 8 * most  # eighths, so that sums are exact
            changes = far * (rng.random((steps, n)) < share)
            weights = rng.integers(-64, 65, n) / 64
            shown = f"n = {n}, size = {size}, steps = {steps}, limit = {limit}"
            yield Case(shown, ((weights.astype(float), Training(changes), steps, size, limit),))

    return cases


save_changes = Exercise(
    cases=trainings(
        (6, 2, 3, 0.25, 0.5, 1.0),
        (12, 3, 8, 1.0, 0.7, 0.5),
        (11, 4, 6, 0.5, 0.5, 0.5),
        (10, 3, 5, 0.0, 0.2, 1.0),
        (8, 2, 4, 0.5, 1.0, 4.0),
        (5, 8, 3, 0.25, 0.4, 1.0),
        (4, 1, 0, 0.5, 0.5, 1.0),
        (9, 2, 6, 100.0, 1.0, 1.0),
        (3000, 64, 12, 2.0, 0.1, 1.0),
    ),
    checks=[saves_seen],
    endings={
        "no step left": "So many steps are to be done, and no more.",
        "zero-size array": "There is no block without elements: how many blocks has an array of 9 elements, with 4 in "
        "each?",
    },
    hints=[
        "Which of the names in the code mean the same memory? Print `previous is weights`.",
        "After a step in which a block is not saved, with what is this block compared in the next one?",
        "Begin with saved = weights.copy(). Save copies, write them into `saved`, and leave what was not saved there "
        "as it is. Round the number of blocks up.",
    ],
    in_place=True,
)


# What is committed ---------------------------------------------------------------------------------------------------


def committed(
    term,
    log,
    matched,
    commit,
    leader=1,
    own=True,
    majority=lambda have, nodes: 2 * have > nodes,
    below=False,
    back=False,
):
    """The commit index, or what comes out with another rule."""
    best = 0 if back else commit
    for index in range(1, len(log) + 1):
        have = leader + sum(each >= index + below for each in matched)
        if majority(have, len(matched) + 1) and (not own or log[index - 1] == term):
            best = max(best, index)
    return best


def with_rule(**rule):
    return lambda *given: committed(*given, **rule)


def no_index(case, results):
    (got,) = results
    if got is None:
        return Finding("it returned None.", "Return the index, also where it stays the same.")
    if isinstance(got, bool) or not isinstance(got, int):
        return Finding(f"it returned {short(got)}.", "Return one whole number, an index.")
    return None


def index_seen(case, results, right):
    return f"it returned {results[0]}; right is {right[0]}."


def some_log(rng):
    n = int(rng.integers(1, 9))
    log = sorted(int(each) for each in rng.integers(1, 4, n))
    matched = [int(each) for each in rng.integers(0, n + 1, int(rng.choice([2, 3, 4, 6])))]
    commit = min(int(rng.integers(0, n + 1)), sorted(matched)[len(matched) // 2])
    return int(log[-1] + rng.integers(0, 2) * (rng.random() < 0.5)), log, matched, commit


commit_index = Exercise(
    cases=inputs.calls(
        (3, [1, 2, 3, 3, 3], [4, 4, 4, 0], 1),
        (3, [1, 2, 3], [3, 1, 3, 0], 1),
        (3, [1, 2, 3], [3, 1, 0, 0], 1),
        (4, [1, 2, 2], [3, 3, 0, 0], 1),
        (4, [1, 2, 2, 4], [3, 3, 3, 3], 1),
        (4, [1, 2, 2, 4], [4, 4, 0, 3], 1),
        (2, [1, 2, 2], [3, 0], 0),
        (2, [2, 2, 2, 2], [4, 2, 2, 1, 0], 1),
        (2, [2, 2, 2], [1, 0, 0, 1], 2),
        (2, [1, 1, 2], [], 0),
        (1, [], [0, 0], 0),
        (3, [2, 3, 3, 3], [4, 2, 3], 0),
        *[some_log] * 12,
        (9, [*[1] * 900, *[8] * 600, *[9] * 500], [1999, 1700, 0, 1501, 3], 1400),
        (9, [*[1] * 900, *[8] * 600, *[9] * 500], [1500, 1500, 1500, 1500], 1400),
        names="term log matched commit",
    ),
    checks=[
        Returns(
            committed,
            slips=[
                (
                    with_rule(own=False),
                    "An entry of an earlier term was committed because most nodes have it. A later leader may still "
                    "replace it (the Raft paper, figure 8). It is committed with an entry of the own term behind it.",
                ),
                (
                    with_rule(leader=0),
                    "The leader has its entries, too: it is one of the nodes, and of the majority.",
                ),
                (
                    with_rule(majority=lambda have, nodes: 2 * have >= nodes),
                    "Half of the nodes are no majority: the other half could say something else.",
                ),
                (
                    with_rule(majority=lambda have, nodes: have == nodes),
                    "As if all nodes had to have it. A majority is enough: that is what lets the others fail.",
                ),
                (
                    with_rule(majority=lambda have, nodes: have > 1),
                    "One other node is not enough. The majority of all nodes has to have it.",
                ),
                (
                    with_rule(below=True),
                    "One entry too few. matched says up to which index a node has the entries, this one included.",
                ),
                (
                    with_rule(back=True),
                    "What was committed before is no longer so. `matched` may be behind what the leader knew: it "
                    "begins anew with each leader.",
                ),
                (
                    lambda term, log, matched, commit: min(committed(term, log, matched, commit), max(len(log) - 1, 0)),
                    "The last entry is left out: entries are counted from 1 up to the length of the log.",
                ),
            ],
            otherwise="For an index: how many of all nodes have this entry? Of which term is it? The largest index "
            "with a majority and the own term counts.",
            seen=index_seen,
            form=no_index,
        )
    ],
    endings={"IndexError": "Entries are counted from 1, a list from 0."},
    hints=[
        "Three nodes, the leader with entries 1 to 3, matched = [3, 0]. Which entries has a majority? What does the "
        "code say?",
        "Up to which index does the loop go? Who is missing in nodes_with_it? And where are the terms?",
        "for index in range(commit + 1, len(log) + 1); one more node has it, the leader; and log[index - 1] == term.",
    ],
)
