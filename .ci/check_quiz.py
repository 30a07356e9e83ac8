"""Answer questions of a quiz in the built book (part of check_book.py), by keyboard and by touch.

A wrong answer must get the verdict and the hint that the grader gives here, and a right one must be accepted. From a
file, where the page has no Python, there are no fields, and the text says how to do it with pytest.
"""

from __future__ import annotations

import contextlib
import sys
from pathlib import Path

from playwright.sync_api import TimeoutError

from chapters import ROOT
from reference.perf.pace import pace

sys.path.append(str(ROOT))  # where exercises/ lies

from exercises.grading.in_page import graded, hint, why
from exercises.grading.page import question

PYTHON, PYTHON_SECONDS, ANSWER_SECONDS = "meta[name=erc-python]", 60, 30
ENDLESS = "sum(range(10**18))"
ASKED = {  # page: what is answered there by a formula, by ticks (or None: no exercise asks for them), and by names
    "predict": (
        ("ch01_collectives", "ring_time", {"2 * n * beta": False, "2 * (P - 1) * (alpha + n / P * beta)": True}),
        ("ch02_data_parallel", "gains_of_accumulation", "AB"),
        ("ch01_collectives", "which_collective", "allreduce"),  # for every situation
    ),
    "predict_models": (
        (
            "ch06_tensor_parallel",
            "bytes_of_a_layer",
            {"b * s": False, "8 * b * s * h * itemsize * (P - 1) / P": True},
        ),
        None,
        ("ch09_pipelines", "which_schedule", "1F1B"),
    ),
}


class Asked:
    """Answers one question of the page, and compares what is shown with what the grader says."""

    def __init__(self, check, page, where: str, chapter: str, name: str):
        self.check, self.page, self.where, asked = check, page, f"{where}, {name}", question(chapter, name)
        self.given, self.about = asked.given, asked.about
        self.place = page.locator(f".question[data-name={name}]")
        self.button = self.place.locator("button.check")

    def told(self, solved: bool, **answer) -> None:
        """Check what is shown of an answer."""
        self.page.wait_for_function(
            "place => place.dataset.state", arg=self.place.element_handle(), timeout=1000 * PYTHON_SECONDS * pace()
        )
        wanted, shown = graded(**self.given, **answer), self.place.locator(".verdict").inner_text()
        self.check(wanted["solved"] == solved, f"{self.where}: {answer} is {'right' if solved else 'wrong'}", wanted)
        whys = [" ".join(text.split()) for text in why(**self.about).split("\n\n")]
        texts = ["is solved", *whys] if solved else [wanted["case"], wanted["seen"], f"Hint: {wanted['hint']}"]
        lacking = [text for text in texts if text not in shown]
        self.check(not lacking, f"{self.where}: {answer} is told what pytest tells", (lacking, shown))

    def type(self, code: str, solved: bool) -> None:
        """Type a formula, and go on to the button with Tab."""
        self.place.locator("textarea").focus()
        press = self.page.keyboard.press
        press("ControlOrMeta+a")
        self.page.keyboard.type(code)
        press("Tab")
        press("Enter")
        self.told(solved, code=code)

    def endless(self) -> None:
        """An answer that stays inside one call of C is stopped, and the next one is graded."""
        self.place.locator("textarea").fill(ENDLESS)
        self.button.click()
        stopped = self.place.locator(".verdict", has_text="and was stopped")
        for _ in range(PYTHON_SECONDS):  # the page's clock runs ahead
            self.page.clock.fast_forward(1000 * ANSWER_SECONDS)
            with contextlib.suppress(TimeoutError):
                return stopped.wait_for(timeout=1000 * pace())
        return stopped.wait_for()

    def hints(self) -> None:
        """All steps of the ladder, one with every click."""
        wanted = hint(**self.about, step=1)
        for step in range(1, wanted["of"] + 1):
            self.place.locator("button.more").click()
            shown = self.place.locator(".ladder li").nth(step - 1)
            shown.wait_for(timeout=1000 * PYTHON_SECONDS * pace())
            told = shown.inner_text()
            self.check(told == hint(**self.about, step=step)["text"], f"{self.where}: hint {step}", told)
        self.check(not self.place.locator("button.more").is_visible(), f"{self.where}: no hint after the last", "")

    def tick(self, letters: str) -> None:
        """Go through the statements with Tab, and choose some with the space bar."""
        self.place.locator("input").first.focus()
        for letter in self.place.locator("label").evaluate_all("labels => labels.map(each => each.dataset.letter)"):
            if letter in letters:
                self.page.keyboard.press("Space")
            self.page.keyboard.press("Tab")
        self.page.keyboard.press("Enter")
        self.told(False, chosen=letters)

    def name(self, name: str) -> None:
        """Choose one name for everything, and tap the button."""
        for field in self.place.locator("select").all():
            field.select_option(name)
        self.button.tap()
        letters = self.place.locator("label").evaluate_all("labels => labels.map(each => each.dataset.letter)")
        self.told(False, chosen=dict.fromkeys(letters, name))


def check_quiz(check, browser, name: str, url: str, desktop: dict, phone: dict, wide: str) -> None:
    """Answer by keyboard on a desktop, with a finger on a phone."""
    context = browser.new_context(viewport=desktop)
    page = opened(context, url)
    if not page.locator(PYTHON).count():
        print(f"{name}: no Python in the page (see book/_ext/live.py), so no questions were answered")
        return context.close()
    address, (code, ticked, named) = page.url, ASKED[Path(name).stem]
    asked = Asked(check, page, f"{name} on a desktop", *code[:2])
    for answer, solved in code[2].items():
        asked.type(answer, solved)
    if ticked:
        Asked(check, page, f"{name} on a desktop", *ticked[:2]).tick(ticked[2])
    asked.endless()
    asked.type(*list(code[2].items())[-1])
    asked.hints()
    check(page.url == address, f"{name}: keys do not turn over the page", page.url)
    context.close()
    context = browser.new_context(viewport=phone, has_touch=True, is_mobile=True)
    page = opened(context, url)
    Asked(check, page, f"{name} on a phone", *named[:2]).name(named[2])
    check((told := page.evaluate(wide)) is None, f"{name} fits a phone with its fields", told)
    controls = page.locator(".erc-quiz button, .erc-quiz select, .erc-quiz textarea, .erc-quiz label:has(input)").all()
    heights = [box["height"] for part in controls if (box := part.bounding_box())]
    check(min(heights) >= 40, f"{name}: a finger hits every control", heights)
    return context.close()


def opened(context, url: str):
    """The page, with its fields."""
    page = context.new_page()
    page.set_default_timeout(10_000)
    page.clock.install()
    page.goto(url, wait_until="load")
    page.wait_for_selector(".erc-quiz[data-ready]", state="attached")
    return page


def check_quiz_offline(check, browser, file: Path) -> None:
    """From a file there are no fields, and nothing is asked for; the text says what to do."""
    context = browser.new_context(offline=True)
    page, asked = context.new_page(), []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(file.as_uri(), wait_until="load")
    fields = page.locator(".erc-quiz input, .erc-quiz textarea, .erc-quiz select, .erc-quiz button").count()
    check(fields == 0, f"{file.name} from a file has no fields", fields)
    told = page.locator(".erc-quiz .instead").first.inner_text()
    first = ASKED[file.stem][0][1]
    check(f"pytest exercises/ -k {first}" in told, f"{file.name} from a file says how to do it", told)
    check(not [each for each in asked if not each.startswith(("file:", "data:"))], f"{file.name} asks no host", asked)
    context.close()
