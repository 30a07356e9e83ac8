"""A supervisor: starts a job again when it has died, so that it goes on from its newest checkpoint.

    python -m reference.supervise -- mpirun -n 4 python -m reference.train --checkpoint run --every 20 --resume
    python -m reference.supervise --sizes 3,2 -- mpirun -n 4 python -m reference.train --checkpoint run --resume
    kill -9 $(pgrep -f "^[^ ]*python[^ ]* -m reference.train" | head -n 1)   # try it, in another terminal: a rank dies

When a rank dies, mpirun ends the others: no rank can go on without the one that it waits for. So the job as a whole is
started again. The supervisor waits before it does: one second, twice as long after each further death, at most a
minute; and it gives up after --restarts deaths in a row without a new checkpoint between them. Whatever makes the job
die at the same step each time is not cured by another try; a job that gets on may die as often as it will.
--sizes says with how many ranks to start after the first death, the second, ...; the last number stays.
A job that ends with 0 is done, and one that ends with 2 refuses its arguments or its checkpoint: neither is repeated.
One that ends with 1 may have met an error, or have a result that it did not verify: it gets one more try.
Exit status: the job's; 2 for bad input; 128 + the signal that has ended the supervisor.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

DONE, FAILED, REFUSED = 0, 1, 2
LONGEST = 60.0  # seconds before a restart
RANKS = ("-n", "-np", "--np")
MANIFEST = "step-*/manifest.json"


def whole_numbers(text: str) -> list[int]:
    """ "3,2" -> [3, 2]. Raises ArgumentTypeError unless all are 1 or more."""
    parts = text.split(",")
    if not all(part.isdecimal() and 0 < int(part) < 10**6 for part in parts):
        raise argparse.ArgumentTypeError(f"{text!r} is no list of numbers of ranks: write 3,2")
    return list(map(int, parts))


def count(text: str) -> int:
    """A number of restarts, 0 or more. Raises ArgumentTypeError for anything else."""
    if not text.isdecimal() or int(text) >= 10**6:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of restarts from 0 to 999,999")
    return int(text)


def pause(text: str) -> float:
    """Seconds, 0 or more. Raises ArgumentTypeError for anything else."""
    with suppress(ValueError):
        if 0 <= float(text) <= LONGEST:
            return float(text)
    raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds from 0 to {LONGEST:g}")


def parser(**options) -> argparse.ArgumentParser:
    """The options, which stand before the -- and the command."""
    p = argparse.ArgumentParser(
        "python -m reference.supervise",
        usage="%(prog)s [options] -- mpirun -n 4 python -m reference.train --checkpoint DIR --resume ...",
        description="Start a job again when it has died, so that it goes on from its newest checkpoint.",
        **options,
    )
    words = "deaths in a row without a new checkpoint after which to give up (default: 5)"
    p.add_argument("--restarts", type=count, default=5, help=words)
    words = "seconds before the first restart, doubled after each (default: 1)"
    p.add_argument("--back-off", type=pause, default=1.0, help=words)
    words = "ranks after the first death, the second, ...: 3,2 (default: as many as before)"
    p.add_argument("--sizes", type=whole_numbers, default=[], help=words)
    return p


def folder_of(command: Sequence[str]) -> Path | None:
    """The folder that a command's --checkpoint names, if it has one."""
    for word, after in zip(command, [*command[1:], ""]):
        if word == "--checkpoint" or word.startswith("--checkpoint="):
            return Path(word.partition("=")[2] or after)
    return None


def newest_step(folder: Path | None) -> int:
    """The step of the newest checkpoint there; -1 if there is none. Only the names are looked at."""
    steps = (path.parent.name.removeprefix("step-").partition(".")[0] for path in (folder or Path()).glob(MANIFEST))
    return max(map(int, filter(str.isdecimal, steps)), default=-1) if folder else -1


def resized(command: Sequence[str], ranks: int) -> list[str]:
    """The command with another number of ranks. Raises ValueError if it names none."""
    for k, word in enumerate(command[:-1]):
        if word in RANKS:
            return [*command[: k + 1], str(ranks), *command[k + 2 :]]
    raise ValueError(f"--sizes needs a command with {RANKS[0]}, the number of ranks: mpirun -n 4 ...")


def run_job(command: Sequence[str]) -> int:
    """Run a command to its end, and end whatever it leaves behind; its exit status, or minus the signal it died of."""
    job = subprocess.Popen(command, start_new_session=True)
    try:
        return job.wait()
    finally:  # also when we are told to end
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(job.pid, signal.SIGKILL if job.poll() is not None else signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            job.wait(5)
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(job.pid, signal.SIGKILL)


def supervise(
    command: Sequence[str],
    options: argparse.Namespace,
    run: Callable[[Sequence[str]], int] = run_job,
    sleep: Callable[[float], None] = time.sleep,
) -> int:
    """Run the command until it is done, is refused, or has died too often; its last exit status.

    options: as the parser gives them. run: starts a job and returns its status when it has ended. Raises ValueError
    for --sizes with a command that names no number of ranks.
    """
    folder, deaths, in_a_row, best, last = folder_of(command), 0, 0, -1, DONE
    sized = [list(command), *(resized(command, ranks) for ranks in options.sizes)]
    while True:
        start = time.monotonic()
        status = run(sized[min(deaths, len(sized) - 1)])
        if status in (DONE, REFUSED):
            if deaths and status == DONE:
                say(f"the job is done, after {deaths} restart{'s' * (deaths > 1)}")
            return status
        newest, deaths = newest_step(folder), deaths + 1
        in_a_row, best = (1, newest) if newest > best else (in_a_row + 1, best)
        how = f"signal {-status}" if status < 0 else f"status {status}"
        there = f"newest checkpoint: step {newest}" if newest >= 0 else "no checkpoint"
        told = f"the job died with {how} after {time.monotonic() - start:.1f} s; {there}"
        if in_a_row > options.restarts or (status == last == FAILED and in_a_row > 1):
            say(f"{told}; {in_a_row} death{'s' * (in_a_row > 1)} in a row without a new checkpoint: giving up")
            return status if status > 0 else 128 - status
        last = status
        wait = min(options.back_off * 2 ** (in_a_row - 1), LONGEST)
        words = sized[min(deaths, len(sized) - 1)]
        size = f", with {words[next(k for k, w in enumerate(words) if w in RANKS) + 1]} ranks" if options.sizes else ""
        say(f"{told}; starting again in {wait:g} s{size} ({in_a_row} of {options.restarts})")
        sleep(wait)


def say(what: str) -> None:
    """One line, beside what the job prints."""
    print(f"reference.supervise: {what}", file=sys.stderr, flush=True)


def _end(number: int, _frame: object) -> None:
    raise SystemExit(128 + number)


def main(argv: Sequence[str]) -> int:
    """The program; its exit status."""
    before, command = (argv[: argv.index("--")], argv[argv.index("--") + 1 :]) if "--" in argv else (argv, [])
    options = parser().parse_args(before)
    try:
        if not command:
            raise ValueError("say after -- what to run: -- mpirun -n 4 python -m reference.train --checkpoint DIR ...")
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, _end)
        return supervise(command, options)
    except (ValueError, OSError) as error:
        say(str(error))
        return REFUSED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
