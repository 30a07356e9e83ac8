"""Modules that import torch, for tests of what graders take for right.

A process that has torch takes three times as long to fork a child for an answer, and most tests of graders fork some.
So nothing here imports torch when it is collected, and the tests that do so later are run last (conftest.py).
"""

import importlib
from typing import Any


class Later:
    """A module that is imported when something of it is asked for."""

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks whether it is a fixture
            raise AttributeError(name)
        return getattr(importlib.import_module(self._name), name)
