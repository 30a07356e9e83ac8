"""How tests of the house come to what .ci/ has."""

import importlib

import pytest

from .files import ROOT


@pytest.fixture
def ci(monkeypatch):
    """ci("rules") is the module .ci/rules.py."""
    monkeypatch.syspath_prepend(ROOT / ".ci")
    return importlib.import_module
