"""Run a script of chapters/production on a few processes, as torchrun does, but quicker: ranks are forked."""

import runpy
import sys
from pathlib import Path

import pytest

from .. import forked, ranks

FOLDER = Path(__file__).resolve().parents[2] / "chapters/production"
ONE_PROCESS = pytest.mark.xdist_group("real ranks")  # imports torch for all scripts, and for the oracles


def printed(script: str, number: int, *arguments: str) -> list[str]:
    """The lines that all ranks print. Raises RuntimeError with the end of what they complained about if one failed."""
    return forked.call(script_on_ranks, str(FOLDER / script), number, *arguments).splitlines()


def script_on_ranks(script: str, number: int, *arguments: str) -> None:
    """Run a script on a number of ranks."""
    sys.argv = [script, *arguments]
    ranks.fork(_rank, number, script)


def _rank(_: int, script: str) -> None:
    ranks.refuse_ddp_that_outlives_its_group()
    runpy.run_path(script, run_name="__main__")
