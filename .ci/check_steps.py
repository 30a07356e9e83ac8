"""Use the step-throughs of recorded all-reduces in the built book (part of check_book.py).

By keyboard, mouse and touch each must show what was recorded, which its page holds as data.
"""

from __future__ import annotations

import json

from playwright.sync_api import Page

# What a step-through shows.
SHOWN = """widget => {
  const text = name => widget.querySelector('.' + name).textContent;
  const plain = name => Number(text(name).replaceAll(',', ''));
  const rows = [...widget.querySelectorAll('.cells [role=row]')].slice(1);
  return {
    algorithm: widget.querySelector('[aria-pressed=true] .name').textContent,
    step: plain('step'), steps: plain('steps'), slider: Number(widget.querySelector('input').value),
    time: plain('time'), bytes: plain('bytes'), sentence: text('say'),
    cells: rows.map(row => [...row.querySelectorAll('.cell')].map(cell => Number(cell.textContent))),
    changed: rows.map(row => [...row.querySelectorAll('.cell')].map(cell => cell.classList.contains('new'))),
    messages: [...widget.querySelectorAll('.messages li')].map(item => item.textContent).filter(t => t.includes('→')),
    arrows: widget.querySelectorAll('.arrows .head').length,
    bars: widget.querySelectorAll('rect').length - widget.querySelectorAll('rect.later').length,
  };
}"""


def recorded(run: dict, step: int) -> dict:
    """Return what a step-through must show of one recording after one step, from the data in the page."""
    held, before, time = run["held"][step], run["held"][max(step - 1, 0)], run["moments"][step]
    now = [message for message in run["messages"] if step and message["step"] == step]
    begun = [message for message in run["messages"] if message["start"] < time - 1e-6]
    told: dict[int, list[dict]] = {}
    for message in now:
        told.setdefault(message["from"], []).append(message)
    return {
        "algorithm": run["name"],
        "step": step,
        "steps": len(run["moments"]) - 1,
        "slider": step,
        "time": round(time, 2),
        "bytes": sum(m["bytes"] for m in run["messages"] if m["from"] == 0 and m["end"] <= time + 1e-6),
        "sentence": run["sentences"][step],
        "cells": [[mask.bit_count() for mask in row] for row in held],
        "changed": [[a != b for a, b in zip(*rows, strict=True)] for rows in zip(held, before, strict=True)],
        "messages": [
            f"{rank} → {', '.join(str(m['to']) for m in own)}{''.join(m['what'] for m in own)}"
            for rank, own in sorted(told.items())
        ],
        "arrows": len(now),
        "bars": 2 * len(begun) + sum(start < time - 1e-6 for _, start, _ in run["computes"]),
    }


class Stepper:
    """Drives one step-through and compares what it shows with what was recorded."""

    def __init__(self, check, widget, where: str, hit: str):
        self.check, self.widget, self.where = check, widget, where
        self.hit = lambda part, number=0: getattr(widget.locator(part).nth(number), hit)()  # click, or tap
        self.runs = json.loads(widget.locator("script").text_content())["runs"]
        self.run, self.step = self.runs[0], 0

    @property
    def last(self) -> int:
        """The last step."""
        return len(self.run["moments"]) - 1

    def at(self, step: int, after: str) -> None:
        """Check that it shows this step."""
        self.step = step
        shown, wanted = self.widget.evaluate(SHOWN), recorded(self.run, step)
        wrong = {key: (shown[key], wanted[key]) for key in wanted if shown[key] != wanted[key]}
        self.check(not wrong, f"{self.where}: {self.run['name']} after {after}: (shown, recorded)", wrong)

    def choose(self, number: int) -> None:
        """Choose an algorithm: it shows how far that one was at the same time."""
        time, self.run = self.run["moments"][self.step], self.runs[number]
        self.hit(".choice button", number)
        self.at(sum(moment <= time + 1e-6 for moment in self.run["moments"]) - 1, "choosing it")

    def buttons(self) -> None:
        """Go through all steps by the buttons, there and half the way back."""
        if self.step < self.last:  # at the end this button is off
            self.hit(".last")
            self.at(self.last, "last")
        self.hit(".first")
        self.at(0, "first")
        for step in range(1, self.last + 1):
            self.hit(".next")
            self.at(step, "next")
        for step in reversed(range(self.last // 2, self.last)):
            self.hit(".previous")
            self.at(step, "previous")

    def slider(self) -> None:
        """Set the slider."""
        self.widget.locator("input").fill(str(self.last - 1))
        self.at(self.last - 1, "moving the slider")

    def keys(self, page: Page) -> None:
        """Press every key that it knows; the page must not take them for its own."""
        self.widget.locator(".stage").focus()
        address = page.url
        steps = {"Home": 0, "ArrowRight": 1, "ArrowLeft": 0, "End": self.last}
        for key, step in steps.items():
            page.keyboard.press(key)
            self.at(step, key)
        page.keyboard.press("ArrowRight")
        self.at(self.last, "ArrowRight at the end")
        page.keyboard.press("Space")  # plays from the start
        page.wait_for_function("w => w.querySelector('.step').textContent == 1", arg=self.widget.element_handle())
        page.keyboard.press("Space")
        self.at(1, "playing one step")
        page.wait_for_timeout(1500)
        self.at(1, "pausing")
        self.check(page.url == address, f"{self.where}: keys do not turn over the page", page.url)

    def swipe(self, page: Page) -> None:
        """Draw a finger to the left: a step on. Draw it upwards: the page scrolls."""
        self.hit(".first")
        box = self.widget.locator(".stage").bounding_box()
        middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
        draw_finger(page, *middle, dx=-10, dy=1)
        self.at(1, "swiping")
        before = page.evaluate("scrollY")
        draw_finger(page, *middle, dx=1, dy=-10)
        self.check(page.evaluate("scrollY") > before + 50, f"{self.where}: the page scrolls under a finger on it")
        self.at(1, "scrolling")


def draw_finger(page: Page, x: float, y: float, dx: float, dy: float) -> None:
    """Put a finger on the page, draw it 15 times by (dx, dy) px, and take it off."""
    touch = page.context.new_cdp_session(page)
    touch.send("Input.dispatchTouchEvent", {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
    for i in range(1, 16):
        points = [{"x": x + i * dx, "y": y + i * dy}]
        touch.send("Input.dispatchTouchEvent", {"type": "touchMove", "touchPoints": points})
        page.wait_for_timeout(16)
    touch.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
    page.wait_for_timeout(200)


def check_step_through(check, browser, name: str, url: str, desktop: dict, phone: dict, wide: str) -> None:
    """Step through every recording of a page, by mouse and keyboard on a desktop, by touch on a phone."""
    page = browser.new_context(viewport=desktop).new_page()
    page.goto(url, wait_until="load")
    page.set_default_timeout(10_000)
    for number, widget in enumerate(page.locator(".erc-steps").all()):
        stepper = Stepper(check, widget, f"{name} step-through {number} on a desktop", "click")
        others = [other.evaluate(SHOWN) for other in page.locator(".erc-steps").all()[number + 1 :]]
        stepper.at(0, "loading")
        for algorithm in reversed(range(len(stepper.runs))):
            stepper.choose(algorithm)
            stepper.buttons()
            stepper.slider()
            stepper.choose(0)
        stepper.keys(page)
        after = [other.evaluate(SHOWN) for other in page.locator(".erc-steps").all()[number + 1 :]]
        check(after == others, f"{stepper.where} leaves others alone")
    page.context.close()
    context = browser.new_context(viewport=phone, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page, small = context.new_page(), "e => ['width', 'height'].map(d => e.getBoundingClientRect()[d])"
    page.goto(url, wait_until="load")
    page.set_default_timeout(10_000)
    for number, widget in enumerate(page.locator(".erc-steps").all()):
        stepper = Stepper(check, widget, f"{name} step-through {number} on a phone", "tap")
        for algorithm in reversed(range(len(stepper.runs))):
            stepper.choose(algorithm)
            check((told := page.evaluate(wide)) is None, f"{stepper.where} fits", told)
        stepper.buttons()
        stepper.slider()
        stepper.swipe(page)
        sizes = [part.evaluate(small) for part in widget.locator("button, input").all()]
        check(min(map(min, sizes)) >= 40, f"{stepper.where}: a finger hits every control", sizes)
        moving = widget.evaluate("w => getComputedStyle(w.querySelector('.cell')).transitionDuration")
        check(moving == "0s", f"{stepper.where}: nothing moves for those who want no motion", moving)
    context.close()
