"""Python in the page: a widget asks, and a function of this package answers, in the reader's own browser.

Idea      The built book brings CPython for browsers (Pyodide) and this package in a zip (book/_ext/live.py). A widget's
          script calls `python.ask("reference.pages.plans.worked_out", {...})` (widget.js), a worker imports the
          function and calls it here, and what it returns comes back. So a page with free numbers needs a function
          that takes and returns what JSON can tell, and no formula is written twice.
Left out  Modules that import NumPy, torch or MPI: what a page asks for is pure Python.
"""

from __future__ import annotations

import json
from importlib import import_module


def answer(question: str) -> str:
    """Call a function by its dotted name: {"call": name, "given": keyword arguments} gives {"value": what it returns}.

    A ValueError is for the reader, who chose the numbers: {"refused": its words}. Anything else is a fault, and raised.
    """
    asked = json.loads(question)
    module, _, name = asked["call"].rpartition(".")
    try:
        return json.dumps({"value": getattr(import_module(module), name)(**asked["given"])})
    except ValueError as error:
        return json.dumps({"refused": str(error)})
