"""Use the calculators of the built book (part of check_book.py), and compare each table with the function's.

What a form calls and begins with, its page says. Where the book has a Python for its pages, other numbers are typed.
"""

from __future__ import annotations

import json
from importlib import import_module
from pathlib import Path

from reference.perf.pace import pace

PYTHON_SECONDS = 60  # for Python to start in a page and to work something out
PYTHON = "meta[name=erc-python]"
CELLS = "rows => rows.map(row => [...row.cells].map(cell => cell.textContent))"
TYPED: dict[str, tuple] = {  # function: (field, number, how what is said must begin)
    "schedule_table": (("p", 6, ""), ("W", 0.25, ""), ("room", 4.5, ""), ("m", 0, "m is a whole number")),
    "stage_table": (
        ("parameters", 13, ""),
        ("ranks", 24, ""),
        ("recompute", 0, ""),
        ("memory", 40, ""),
        ("units", 0, "there are 1 to"),
    ),
    "budget_table": (
        ("parameters", 7, ""),
        ("recompute", 1, ""),
        ("reserve", 0.1, ""),
        ("layers", 0, "the model and the machine have"),
    ),
    "task_table": (
        ("D3", 8, ""),
        ("edf", 1, ""),
        ("interrupted", 0, ""),
        ("C1", 0, "times are from 1"),
    ),
    "plan_table": (
        ("accelerators", 128, ""),
        ("memory", 40, ""),
        ("efficiency", 0.5, ""),
        ("memory", 4, "nothing fits"),
        ("layers", 0, "layers is a whole number"),
        ("accelerators", 64.5, "accelerators is a whole number"),
    ),
}


class Calculated:
    """One form of a page; `check` takes a condition, a name, and what was seen."""

    def __init__(self, check, page, number: int, where: str):
        self.check, self.page, self.form = check, page, page.locator(".erc-form").nth(number)
        told = json.loads(self.form.locator("script[type='application/json']").text_content())
        module, _, self.name = told["call"].rpartition(".")
        self.function, self.where = getattr(import_module(module), self.name), f"{where} {self.name}"
        self.given = {field["name"]: field["value"] for field in told["fields"]}

    def at(self, after: str) -> None:
        """Check that its table is the function's."""
        shown = self.form.locator("tbody tr").evaluate_all(CELLS)
        self.check(shown == texts(self.function(**self.given)), f"{self.where} after {after}", shown)

    def type(self, name: str, number: float, refused: str) -> None:
        """Type a number into a field, and wait for what it makes."""
        kept, self.given[name] = self.given[name], number
        field = self.form.locator("input").nth(list(self.given).index(name))
        field.fill(str(number))
        field.press("Enter")
        ready, limit = "form => form.dataset.ready === ''", 1000 * PYTHON_SECONDS * pace()
        self.page.wait_for_function(ready, arg=self.form.element_handle(), timeout=limit)
        said = self.form.locator(".said").inner_text()
        self.check(said.startswith(refused) and bool(said) == bool(refused), f"{self.where}: {name} = {number}: {said}")
        if refused:
            self.given[name] = kept
        self.at(f"{name} = {number}")


def texts(rows: list[dict]) -> list[list[str]]:
    """The cells of a table as a form shows them."""
    return [
        [cell if isinstance(cell, str) else "" if cell is None else f"{round(cell, 3):g}" for cell in row.values()]
        for row in rows
    ]


def check_forms(check, browser, name: str, url: str, desktop: dict, phone: dict, wide: str) -> None:
    """Type numbers into every form of a page on a desktop; on a phone it must fit, and a finger hit each field."""
    context = browser.new_context(viewport=desktop)
    page = opened(context, url)
    for number in range(page.locator(".erc-form").count()):
        form = Calculated(check, page, number, name)
        form.at("loading")
        check(form.name in TYPED, f"{form.where}: .ci/check_form.py says what to type")
        for typed in TYPED.get(form.name, ()) if page.locator(PYTHON).count() else ():
            form.type(*typed)
    context.close()
    context = browser.new_context(viewport=phone, has_touch=True, is_mobile=True)
    page = opened(context, url)
    check((told := page.evaluate(wide)) is None, f"{name} fits a phone with its form", told)
    heights = [box["height"] for field in page.locator(".erc-form input").all() if (box := field.bounding_box())]
    check(min(heights, default=40) >= 40, f"{name}: a finger hits every field of its form", heights)
    context.close()


def opened(context, url: str):
    """The page, with its forms."""
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.goto(url, wait_until="load")
    page.wait_for_selector(".erc-form[data-ready]", state="attached")
    return page


def check_forms_offline(check, browser, file: Path) -> None:
    """From a file, without a network, the tables that are stored are there, and nothing is asked for."""
    context = browser.new_context(offline=True)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri(), wait_until="load")
    for number in range(page.locator(".erc-form").count()):
        Calculated(check, page, number, f"{file.name} from a file").at("loading")
    check(not [each for each in asked if not each.startswith(("file:", "data:"))], f"{file.name} asks no host", asked)
    context.close()
