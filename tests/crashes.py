"""A training on forked ranks that are killed again and again, by SIGKILL, at any instant of it; and what is left of it.

Ranks are processes that meet at pipes, with as much of a communicator as a checkpoint needs: a job of them starts in
milliseconds, where one of MPI takes seconds. Each kill is drawn from a seed: who dies (a rank, or all of them), and
when: after some seconds, or before, within or after the n-th operation on files of that rank, saving or restoring.

After each kill the newest checkpoint is loaded by somebody who was not there, and has to be the state that the
uninterrupted training had after the same step. Then the training goes on, to its end, and has the same weights.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import nn

from reference.checkpoint import Saving, TrainingState, keep, newest, training_state
from reference.checkpoint.files import Files
from reference.checkpoint.placed import of_parameters

RANKS, STEPS, EVERY = 3, 8, 2
OPERATIONS = (
    *("write shard", "write manifest", "rename manifest", "sync_folder folder", "make_folder folder"),
    *("read manifest", "read shard", "remove manifest", "remove_folder folder"),
)
"""On files, as rank 0 does them all."""
SLOW = 60.0  # seconds after which a job without an end has failed


class Pipes:
    """A communicator of forked processes: what a checkpoint needs of one. All messages pass through rank 0."""

    def __init__(self, rank: int, ends: list):
        self.rank, self.size, self.ends = rank, len(ends) + 1, ends

    def allgather(self, one: Any) -> list:
        """What each rank has, on all ranks."""
        if self.rank:
            above, _ = self.ends[self.rank - 1]
            above.send(one)
            return above.recv()
        every = [one, *(below.recv() for _, below in self.ends)]
        for _, below in self.ends:
            below.send(every)
        return every

    def gather(self, one: Any, root: int = 0) -> list | None:
        """What each rank has, on rank 0."""
        every = self.allgather(one)
        return every if self.rank == root else None

    def bcast(self, one: Any, root: int = 0) -> Any:
        """What the root has."""
        return self.allgather(one)[root]

    def Barrier(self) -> None:
        """All are here."""
        self.allgather(None)


class Alone(Pipes):
    """A communicator of one."""

    def __init__(self):
        super().__init__(0, [])


class Kill(NamedTuple):
    """Who dies, and when: after `seconds`, or at an operation on files of `rank`: "before", "within", "after".

    operation: a number, or which one: "write manifest".
    """

    rank: int
    everybody: bool
    seconds: float | None
    operation: int | str
    moment: str


def drawn(draw: random.Random) -> Kill:
    """A kill at random: a fifth after some time, the others at an operation, by its number or by its name.

    A restore and the first save are about 14 operations of rank 0, and 9 of another rank.
    """
    how, everybody, moment = draw.random(), draw.random() < 0.3, draw.choice(["before", "within", "after"])
    rank = draw.randrange(RANKS) if how < 0.6 else 0
    seconds = draw.uniform(0.0, 0.1) if how < 0.2 else None
    operation = draw.randrange(9 if rank else 24) if how < 0.6 else draw.choice(OPERATIONS)
    return Kill(rank, everybody, seconds, operation, moment)


class Deadly(Files):
    """Real files, in whose n-th operation this process dies. It counts them, and notes in a file where it was."""

    def __init__(self, kill: Kill | None, note: Path):
        self.kill, self.note, self.count = kill, note, 0

    @contextmanager
    def _around(self, what: str, path: Path) -> Iterator[bool]:
        """An operation: die before or after it. Whether to die within."""
        kind = "manifest" if "manifest" in path.name else "shard" if path.suffix == ".safetensors" else "folder"
        mine = self.kill is not None and self.kill.seconds is None
        moment = self.kill.moment if mine and self.kill.operation in (self.count, f"{what} {kind}") else ""
        self.count += 1
        if moment:
            self.note.write_text(f"{what} {kind}")
        if moment == "before":
            self.die()
        yield moment == "within"
        if moment:
            self.die()

    def die(self) -> None:
        """By SIGKILL, alone or with all ranks."""
        os.kill(0 if self.kill.everybody else os.getpid(), signal.SIGKILL)
        time.sleep(SLOW)

    def write(self, path: Path, pieces, sync: bool = True) -> None:
        with self._around("write", path) as within:
            if within:  # half of its bytes
                content = b"".join(bytes(piece) for piece in pieces)
                path.write_bytes(content[: len(content) // 2])
                self.die()
            super().write(path, pieces, sync)

    def remove_folder(self, path: Path) -> None:
        with self._around("remove_folder", path) as within:
            if within and path.is_dir():  # half of its files
                for name in self.names(path)[::2]:
                    (path / name).unlink()
                self.die()
            super().remove_folder(path)

    def make_folder(self, path: Path) -> None:
        with self._around("make_folder", path):
            super().make_folder(path)

    def sync_folder(self, path: Path) -> None:
        with self._around("sync_folder", path):
            super().sync_folder(path)

    def rename(self, old: Path, new: Path) -> None:
        with self._around("rename", new):
            super().rename(old, new)

    def remove(self, path: Path) -> None:
        with self._around("remove", path):
            super().remove(path)

    @contextmanager
    def reading(self, path: Path):
        with self._around("read", path) as within, super().reading(path) as read:
            if within:
                read(0, np.empty(1, np.uint8))
                self.die()
            yield read


# The training ---------------------------------------------------------------------------------------------------------


def model_and_state() -> tuple[nn.Module, torch.optim.Optimizer, TrainingState]:
    """The same at each start; its random numbers, which all steps draw, are the default generator's."""
    torch.manual_seed(7)
    model = nn.Sequential(nn.Linear(6, 9), nn.Tanh(), nn.Linear(9, 2))
    optimizer = torch.optim.Adam(model.parameters(), 0.05)
    return model, optimizer, TrainingState(of_parameters(dict(model.named_parameters())), optimizer)


def fingerprint(model: nn.Module, optimizer: torch.optim.Optimizer) -> str:
    """Of weights and moments."""
    kept = [value for p in model.parameters() for _, value in sorted(optimizer.state.get(p, {}).items())]
    tensors = [p.detach() for p in model.parameters()] + kept
    return sha256(b"".join(tensor.numpy().tobytes() for tensor in tensors)).hexdigest()[:16]


def train(comm: Pipes, folder: Path, files: Deadly) -> None:
    """Go on from the newest checkpoint, save every two steps, and say at the end what came of it."""
    model, optimizer, state = model_and_state()
    torch.manual_seed(100 + comm.rank)  # what each rank draws is its own
    first = comm.bcast(newest(folder, None, files) is not None if comm.rank == 0 else None)
    step = state.load(comm, folder, None, files).step if first else 0
    while True:
        if step % EVERY == 0:
            state.save(comm, folder, step, {"step": step}, files)
            if comm.rank == 0:
                keep(folder, 2, files)
                with open(folder / "states", "a") as log:
                    log.write(json.dumps([step, fingerprint(model, optimizer)]) + "\n")
        if step == STEPS:
            break
        x = torch.randn(4, 6)  # "data" that this rank draws: who forgets where it was draws other
        model(x).square().sum().backward()
        every = comm.allgather([p.grad.numpy() for p in model.parameters()])
        for p, *parts in zip(model.parameters(), *every):
            p.grad = torch.from_numpy(sum(parts[1:], parts[0].copy()))
        optimizer.step()
        optimizer.zero_grad()
        step += 1


def run(folder: Path, kill: Kill | None, prepare: Callable[[], None] = lambda: None) -> bool:
    """Start the ranks, let one die, end the others as mpirun does; whether the training came to its end."""
    ends = [Pipe() for _ in range(RANKS - 1)]
    first, pids = 0, []
    for rank in range(RANKS):
        pid = os.fork()
        if pid == 0:
            status = 1
            try:
                os.setpgid(0, first)
                prepare()
                mine = kill if kill is not None and kill.rank == rank else None
                train(Pipes(rank, ends), folder, Deadly(mine, folder / "died"))
                status = 0
            except (EOFError, BrokenPipeError, ConnectionResetError):
                pass  # another one has died, and the parent will end us, too
            except Exception:
                traceback.print_exc()
            finally:
                os._exit(status)
        first = first or pid
        with_suppressed(os.setpgid, pid, first)
        pids.append(pid)
    if kill is not None and kill.seconds is not None:
        time.sleep(kill.seconds)
        (folder / "died").write_text("at a time")
        with_suppressed(*((os.killpg, first) if kill.everybody else (os.kill, pids[kill.rank])), signal.SIGKILL)
    return reap(pids)


def reap(pids: list[int]) -> bool:
    """Wait for the first that dies, and end the others; whether all came to their end."""
    left, well = set(pids), True
    while left:
        pid, status = os.wait()
        left.discard(pid)
        if status and well:
            well = False
            for other in left:
                os.kill(other, signal.SIGKILL)
    return well


def with_suppressed(function: Callable, *arguments: Any) -> None:
    """Call it; who is gone already need not be called."""
    try:
        function(*arguments)
    except (ProcessLookupError, PermissionError):
        pass


# The campaign ---------------------------------------------------------------------------------------------------------


def look(folder: Path, states: dict[int, str]) -> str:
    """Load the newest checkpoint, if there is one, as somebody who was not there: what is wrong with it, or nothing."""
    if newest(folder) is None:
        return ""
    model, optimizer, state = model_and_state()
    try:
        step = state.load(Alone(), folder).step
    except OSError as error:
        return f"it does not load: {error.strerror or error}"
    found = fingerprint(model, optimizer)
    return "" if found == states[step] else f"step {step} is {found} where it was {states[step]}"


def states_of(folder: Path) -> dict[int, str]:
    """The state after each step that was saved: {step: fingerprint}. ValueError if one step had two."""
    found: dict[int, str] = {}
    for line in (folder / "states").read_text().splitlines():
        step, state = json.loads(line)
        if found.setdefault(step, state) != state:
            raise ValueError(f"step {step} was {found[step]}, and is {state} when it is taken again")
    return found


def campaign(kills: int, seed: int, prepare: Callable[[], None] = lambda: None, at: str = "") -> dict[str, Any]:
    """So many kills, of trainings one after the other; where they died, and what was wrong.

    prepare: called in each rank before it begins, to plant a mistake. at: rank 0 dies within such an operation, always.
    """
    base = Path(os.environ.get("TMPDIR", "/tmp")) / f"crashes-{os.getpid()}"
    shutil.rmtree(base, ignore_errors=True)
    draw, where, wrong, done, restarts = random.Random(seed), Counter(), [], 0, 0
    try:
        (base / "whole").mkdir(parents=True)
        assert run(base / "whole", None)
        states = states_of(base / "whole")
        while done < kills and not wrong:
            folder = base / f"run{done}"
            folder.mkdir()
            for _ in range(min(5, kills - done)):
                kill = Kill(0, False, None, at, "within") if at else drawn(draw)
                ended, restarts = run(folder, kill, prepare), restarts + 1
                if ended:  # before its time had come
                    break
                if not (folder / "died").exists():
                    wrong.append(f"after kill {done} of seed {seed} ranks fail by themselves")
                    break
                done += 1
                where[(folder / "died").read_text()] += 1
                (folder / "died").unlink()
                if said := look(folder, states):
                    wrong.append(f"kill {done} of seed {seed}: {said}")
                    break
            if not wrong and not run(folder, None, prepare):
                wrong.append(f"after kill {done} of seed {seed} the training does not go on")
            if not wrong and (found := resumed(folder)) != states:
                wrong.append(f"after kill {done} of seed {seed} other states follow: {found}, not {states}")
            shutil.rmtree(folder)
    finally:
        shutil.rmtree(base, ignore_errors=True)
    return {"kills": done, "starts": restarts, "where": where, "wrong": wrong}


def resumed(folder: Path) -> dict[int, str] | str:
    """The states of a training that was killed, all of them; or what contradicts itself."""
    try:
        return states_of(folder)
    except ValueError as error:
        return str(error)


def tell(kills: int, seed: int, plant: str = "", at: str = "") -> None:
    """A campaign, told in JSON."""
    print(json.dumps(campaign(kills, seed, PLANTED[plant], at)))


# Planted mistakes -----------------------------------------------------------------------------------------------------


def manifest_in_place() -> None:
    """The manifest gets its name before its bytes."""
    write, rename = Deadly.write, Deadly.rename
    Deadly.write = lambda self, path, *more: write(self, path.with_name(path.name.removesuffix(".partial")), *more)
    Deadly.rename = lambda self, old, new: None if "manifest" in new.name else rename(self, old, new)


def manifest_first() -> None:
    """The manifest is there before the shards are: they are written without a name of their own, and renamed after."""
    write, commit = Saving.write, Saving.commit
    names = []

    def early(self) -> None:
        write(self)
        for name in self.written:
            os.rename(self.path / name, self.path / f"{name}.late")
            names.append(self.path / name)

    def late(self, *more):
        path = commit(self, *more)
        self.files.sync_folder(path)  # an operation between the manifest and the shards
        for name in names:
            os.rename(f"{name}.late", name)
        names.clear()
        return path

    Saving.write, Saving.commit = early, late


def no_random_state() -> None:
    """Random states are not put back."""
    training_state.set_random_state = lambda *of: None


def no_moments() -> None:
    """What the optimizer keeps is not saved."""
    portions = TrainingState.portions
    TrainingState.portions = lambda self: {k: of for k, of in portions(self).items() if not k.startswith("optimizer")}


PLANTED: dict[str, Callable[[], None]] = {
    "": lambda: None,
    "manifest in place": manifest_in_place,
    "manifest first": manifest_first,
    "no random state": no_random_state,
    "no moments": no_moments,
}
