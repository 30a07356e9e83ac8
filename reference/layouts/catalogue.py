"""The layouts that there are, and which one a command line asks for."""

from __future__ import annotations

import argparse
from collections.abc import Iterator

from .. import cli
from .composed import Composed
from .context_parallel import ContextParallel
from .data_parallel import DataParallel
from .layout import Layout, Option
from .pipeline import Pipeline
from .tensor_parallel import TensorParallel
from .zero import Zero

LAYOUTS: tuple[type[Layout], ...] = (DataParallel, Pipeline, TensorParallel, ContextParallel, Zero, Composed)
"""The one without a switch first."""


def options() -> Iterator[tuple[type[Layout], str, Option]]:
    """Every layout's own options: (layout, name, option)."""
    return ((layout, name, option) for layout in LAYOUTS for name, option in layout.options.items())


def choose(chosen: argparse.Namespace) -> type[Layout]:
    """The layout that is asked for; its options that were left out are filled in, and so are those of the others.

    Two at a time are `Composed`, and so is one with an option of its own. Raises BadInput for options of others.
    """
    asked = [layout for layout in LAYOUTS if layout.switch and getattr(chosen, layout.switch) is not None]
    layout = asked[0] if asked else LAYOUTS[0]
    clipped = chosen.clip is not None and "clip" not in {*layout.options, *layout.others}
    if len(asked) > 1 or clipped or any(getattr(chosen, name) is not None for name in Composed.options):
        layout = Composed
    check_options(chosen, layout)
    for _, name, option in options():
        if getattr(chosen, name) is None:
            setattr(chosen, name, option.default)
    return layout


def check_options(chosen: argparse.Namespace, layout: type[Layout]) -> None:
    """Raise BadInput if an option was given that belongs to other layouts only."""
    given = [
        (home, flag(name))
        for home, name, _ in options()
        if home is not layout and name not in layout.others and getattr(chosen, name) is not None
    ]
    if not given:
        return
    home, names = given[0][0], " and ".join(name for of, name in given if of is given[0][0])
    are = f"{names} {'are' if ' and ' in names else 'is'}"
    if layout.switch:
        raise cli.BadInput(f"{are} for {home.name}, and not for {layout.name}: leave out {flag(layout.switch)}")
    asked = home.asks or f"how many ranks make a {home.group}"
    raise cli.BadInput(f"{are} for {home.name}: say with {flag(home.switch)} {asked}")


def flag(name: str) -> str:
    """An option as it is typed: "micro_batches" -> "--micro-batches"."""
    return f"--{name.replace('_', '-')}"
