"""Checkpoints of `reference.train`: what is saved between the steps, when, and how a training goes on from it.

Idea      held.py gathers what a loop holds, `reference.checkpoint` writes it; here is the rest of the training:
          the number of the step, which says what the next batch is (`models/batches.py`); the losses so far; the
          optimizer's options, its learning rate among them; random states; what compressed sums have not sent yet; the
          order of the buckets; and which all-reduce was chosen for which size, for another one rounds otherwise.
Exact     In the layout that has saved, the same bits follow as without the interruption. In another one sums are
          rounded in another order. A step is computed again after a crash, never skipped: its samples count once in the
          weights, for the weights are those before it.
Price     With --every auto, Daly's interval for what a save has cost just now and for --mtbf. Unless told, that is what
          Llama 3's largest training met: 419 unexpected interruptions in 54 days, one in 3.1 hours.
Source    Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps" (2006). Grattafiori et
          al., "The Llama 3 Herd of Models" (2024), section 3.3.4.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from math import inf
from pathlib import Path
from typing import Any

import torch

from .. import cli, mpi
from ..checkpoint import CheckpointError, committed, everything, keep, load, save
from ..checkpoint.files import FILES, Files
from ..checkpoint.load import open_checkpoint
from ..checkpoint.manifest import step_of
from ..collectives.fit import Fit
from ..data_parallel.between import InTraining
from ..failures.interval import daly
from .catalogue import flag
from .catalogue import options as of_layouts
from .held import HeldState, put_back_unsent, room_for_unsent, unsent
from .layout import Layout

SAME = ("model", "layers", "heads", "kv_heads", "batch", "seed", "optimizer", "rate", "clip", "compress")
"""The options that decide what is trained: a resumed training has the same."""
UNITS = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400}
NEWEST = "newest"


def seconds(text: str) -> float:
    """ "90", "5m", "3h" or "2d" -> seconds. Raises ArgumentTypeError for anything else, and for 0."""
    match = re.fullmatch(r"([0-9]*\.?[0-9]+)([smhd]?)", text.strip())
    if match is None or not 0 < float(match[1]) * UNITS[match[2]] < inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a time above 0: write seconds, or 5m, 3h, 2d")
    return float(match[1]) * UNITS[match[2]]


def steps_between(text: str) -> int | str:
    """ "auto", or a number of steps."""
    return text if text == "auto" else cli.whole_number(text, 1, 10**9)


def step_to_resume(text: str) -> str:
    """ "newest", or the number of a step, as it was typed."""
    return text if text == NEWEST else str(cli.whole_number(text, 0, 10**9))


OPTIONS: dict[str, tuple[Any, dict[str, Any]]] = {
    "checkpoint": (None, {"metavar": "DIR", "help": "save the training there, whole or not at all"}),
    "every": ("auto", {"type": steps_between, "metavar": "N", "help": "steps from save to save (default: auto, Daly)"}),
    "mtbf": (3.1 * 3600, {"type": seconds, "metavar": "TIME", "help": "from failure to failure: 600, 5m, 3h (3.1h)"}),
    "keep": (2, {"type": cli.whole_number, "metavar": "K", "help": "the newest so many checkpoints (default: 2)"}),
    "resume": (
        None,
        {"type": step_to_resume, "nargs": "?", "const": NEWEST, "metavar": "STEP", "help": "go on from the newest one"},
    ),
}
"""Each option with what it is if left out, which is filled in, and how it is added to a parser, without a default."""


def check_options(chosen: argparse.Namespace) -> None:
    """Fill in what was left out. Raises BadInput for options of checkpoints without --checkpoint."""
    given = [flag(name) for name in OPTIONS if getattr(chosen, name) is not None]
    if given and chosen.checkpoint is None:
        raise cli.BadInput(f"{' and '.join(given)}: say with --checkpoint in which folder")
    for name, (default, _) in OPTIONS.items():
        if getattr(chosen, name) is None:
            setattr(chosen, name, default)


@contextmanager
def told() -> Iterator[None]:
    """What is wrong with a checkpoint is bad input: one line, on every rank, with the option that goes back."""
    try:
        yield
    except CheckpointError as error:
        said = error.strerror or str(error)
        raise cli.BadInput(re.sub(r"Go back to step (\d+)", r"Go back to step \1 with --resume \1", said)) from None


class Checkpoints:
    """The checkpoints of one training, in its folder.

    To make one is collective, and before the layout is made: of a training that goes on, it fills in `chosen.layers`.
    Raises BadInput on every rank if there is something to go on from and nobody said so, if there is nothing at the
    step that was asked for, if it is damaged, or if it is another training's.

    found    the manifest that is gone on from; None at the beginning
    costs    seconds of each save so far
    """

    def __init__(self, comm: Any, chosen: argparse.Namespace, files: Files = FILES):
        self.comm, self.chosen, self.files, self.folder = comm, chosen, files, Path(chosen.checkpoint)
        self.costs: list[float] = []
        self.found = self._open()
        if self.found:
            self._check_same(self.found.extra["asked"])
        self.last, self.last_at = -1, 0.0  # the step of the last save, and when it ended

    def _open(self) -> Any:
        there, asked = self._steps(), self.chosen.resume
        if there and asked is None:
            raise cli.BadInput(
                f"{self.folder} has a checkpoint of step {there[-1]}: go on with --resume, or name another folder"
            )
        if not there and asked in (None, NEWEST):
            return None
        if asked != NEWEST and int(asked) not in there:
            others = f"there are {', '.join(map(str, there))}" if there else "there is none"
            raise cli.BadInput(f"--resume {asked}: there is no checkpoint of step {asked} in {self.folder}; {others}")
        with told():
            return open_checkpoint(self.comm, self.folder, None if asked == NEWEST else int(asked), self.files)[0]

    def _steps(self) -> list[int]:
        """Of which steps there are checkpoints. Collective."""
        here, error = [], None
        if self.comm.rank == 0:
            if self.folder.exists() and not self.folder.is_dir():
                error = cli.BadInput(f"--checkpoint {self.folder} is no folder")
            here = committed(self.folder, self.files)
        cli.raise_together(self.comm, error)
        return self.comm.bcast([(step_of(path.name) or (0,))[0] for path in here], root=0)

    def _check_same(self, saved: dict[str, Any]) -> None:
        if self.chosen.layers is None and self.chosen.model != "cnn":
            self.chosen.layers = saved["layers"]
        for name in SAME:
            if getattr(self.chosen, name) != saved[name]:
                one, other = (f"{flag(name)} {value}" for value in (getattr(self.chosen, name), saved[name]))
                raise cli.BadInput(
                    f"{self.folder} has a training with {other}, not {one}: say {other}, or name another folder"
                )

    def attach(self, layout: Layout) -> None:
        """Have this layout's training begin where the checkpoint says, and be saved."""
        own = {name: getattr(self.chosen, name) for _, name, _ in of_layouts() if name != "timeline"}
        self.layout = own | {"ranks": self.comm.size, "micro_batches": self.chosen.micro_batches}
        self.asked = {name: getattr(self.chosen, name) for name in SAME}
        self.asked["layers"] = self.chosen.layers or layout.layers
        layout.between = self.between
        if self.found:
            layout.first = self.found.step
            self._know(self.comm, self.found.extra["fit"])

    @property
    def same_layout(self) -> bool:
        """Whether it was saved in the layout that goes on."""
        return bool(self.found) and self.found.extra["layout"] == self.layout

    def lines(self) -> list[str]:
        """Where the training begins, in words."""
        if not self.found:
            return [f"checkpoints in {self.folder}" + ", none yet: from the beginning" * bool(self.chosen.resume)]
        ranks = self.found.ranks
        how = "the same layout" if self.same_layout else "another layout"
        return [f"resumed after step {self.found.step} of {self.folder}: {ranks} rank{'s' * (ranks > 1)}, {how}"]

    def about(self) -> dict[str, Any]:
        """What there is to tell in the end."""
        resumed = self.found.step if self.found else None
        return {"folder": str(self.folder), "resumed": resumed, "saves": len(self.costs), "seconds": self.costs}

    # Between the steps ------------------------------------------------------------------------------------------------

    def between(self, training: InTraining, steps: Iterable[int]) -> Iterator[int]:
        """Put the checkpoint's state in, or save the first one; then give the steps, and save when it is time."""
        held, step = HeldState(training), self.found.step if self.found else 0
        with told():
            if self.found:
                self._restore(training, held)
            else:
                self._save(training, held, 0)
        self.last, self.last_at, look = step, mpi.wtime(self.comm), self._first_look(step)
        for number in steps:
            yield number
            step = number + 1
            if step == look:
                due, look = self._due(step)
                if due:
                    with told():
                        self._save(training, held, step)
        if step != self.last:
            with told():
                self._save(training, held, step)

    def _first_look(self, step: int) -> int:
        return step + 1 if self.chosen.every == "auto" else step - step % self.chosen.every + self.chosen.every

    def _due(self, step: int) -> tuple[bool, int]:
        """Whether to save now, after so many steps, and after how many to ask again. Collective."""
        if self.chosen.every != "auto":
            return True, step + self.chosen.every
        due, look = False, step + 1
        if self.comm.rank == 0:
            passed = mpi.wtime(self.comm) - self.last_at
            a_step = max(passed / (step - self.last), 1e-9)
            interval = daly(max(self.costs[-1] if self.costs else a_step, 1e-9), self.chosen.mtbf)
            due = passed + a_step / 2 >= interval
            look = step + max(1, round((interval if due else interval - passed) / a_step))
        return self.comm.bcast((due, look), root=0)

    # Save and restore -------------------------------------------------------------------------------------------------

    def _save(self, training: InTraining, held: HeldState, step: int) -> None:
        start, comm, replica = mpi.wtime(self.comm), self.comm, training.replica
        if training.stage:
            training.stage.bring()
        losses = {"losses": torch.tensor(training.losses, dtype=torch.float64)}
        tensors = {name: everything(tensor) for name, tensor in (losses | unsent(replica, comm.rank)).items()}
        extra = held.state.extra({"step": step}) | {"asked": self.asked, "layout": self.layout}
        extra |= {"order": replica.next_order if replica else None, "fit": fit_of(comm)}
        own = held.state.own() | {"fits": {name: fit_of(group) for name, group in training.comms.items()}}
        save(comm, self.folder, step, held.state.portions() | tensors, extra, own, self.files)
        if training.stage:
            training.stage.let_go(changed=False)
        if comm.rank == 0:
            keep(self.folder, self.chosen.keep, self.files)
        self.last, self.last_at = step, mpi.wtime(comm)
        self.costs.append(self.last_at - start)

    def _restore(self, training: InTraining, held: HeldState) -> None:
        found, replica, comm = self.found, training.replica, self.comm
        held.load(comm, self.folder, found.step, self.files)
        losses = torch.empty(found.step, dtype=torch.float64)
        kept = room_for_unsent(replica, found, comm.rank, comm.size)
        others = {name: everything(tensor) for name, tensor in {"losses": losses, **kept}.items()}
        load(comm, self.folder, others, found.step, self.files)
        training.losses[:] = losses.tolist()
        order = found.extra["order"]
        if replica and order and sorted(order) == list(range(len(replica.parameters))):
            replica.take_order(order)
        if kept:
            put_back_unsent(replica, found, comm.rank, comm.size, kept)
        for name, group in training.comms.items() if comm.rank < found.ranks else ():
            self._know(group, found.own[comm.rank]["fits"].get(name))
        if comm.rank == 0 and self.chosen.resume != NEWEST:
            self._give_up_later()

    def _know(self, comm: Any, fit: dict[str, Any] | None) -> None:
        """Have the machine of this communicator as it was measured when it was saved, not measured again."""
        if self.same_layout and fit is not None:
            mpi.kept(comm)["fit"] = Fit.from_json(fit)

    def _give_up_later(self) -> None:
        """Whoever goes back to a step gives up the later ones: they get a name that is no checkpoint's."""
        for path in committed(self.folder, self.files):
            if (step_of(path.name) or (0,))[0] > self.found.step:
                self.files.rename(path, path.with_name(f"given-up.{path.name}"))


def fit_of(comm: Any) -> dict[str, Any] | None:
    """What was measured of this communicator's machine, for JSON; None if nothing was."""
    fit = mpi.kept(comm).get("fit")
    return fit.to_json() if isinstance(fit, Fit) else None
