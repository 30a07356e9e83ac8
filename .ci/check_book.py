"""Look at the built book in a headless Chromium, as a reader on a desktop and on a phone does.

    python .ci/check_book.py build/_build/html [--screenshots FOLDER]

Every page must load without a request to another host, without an error on the console and without a missing file; its
mathematics must be typeset; its pictures must have an alternative text; its links within the book must lead somewhere;
it must fit a phone and weigh at most 1.5 MB; axe-core must find nothing against its accessibility, on a desktop and on
a phone; and a search for "ring" must find something. Some page must have a step-through of recorded all-reduces, and by
keyboard, mouse and touch it must show what was recorded; some page an explorer of schedules (check_explorer.py); some
page a quiz (check_quiz.py); some page a checklist whose marks stay.
Exit status 0 only if all of it holds.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import json
import re
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

from check_explorer import LINK, check_explorer, check_offline
from check_quiz import check_quiz, check_quiz_offline
from playwright.sync_api import Error, Page, TimeoutError, sync_playwright

from chapters import ROOT

MOST_BYTES, WIDGET_BYTES = 1_500_000, 500_000  # of a page with all that it loads, as stored; and of its widgets
FITTED = 400  # ms after which formulas have been fitted to a new width, and scroll.js has seen them
PHONE_RULES = ["color-contrast", "scrollable-region-focusable", "target-size"]  # what another width can break
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
FILE_NAME = re.compile(r"^\S*\.(png|svg|jpe?g|gif|webp)$", re.IGNORECASE)

# What a page tells about itself, in one call.
INSPECT = """() => {
  const article = document.querySelector('article') || document.body;
  const text = [];
  const walker = document.createTreeWalker(article, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const inside = walker.currentNode.parentElement.closest('pre, code, script, style, mjx-container, .headerlink');
    if (!inside) text.push(walker.currentNode.data);
  }
  return {
    title: document.title,
    formulas: article.querySelectorAll('.math').length,
    typeset: article.querySelectorAll('mjx-container').length,
    untypeset: [...article.querySelectorAll('.math')].filter(m => !m.querySelector('mjx-container'))
      .map(m => m.textContent.slice(0, 60)),
    errors: [...article.querySelectorAll('mjx-merror, [data-mjx-error], mjx-container [style*="color: red"]')]
      .map(m => m.closest('.math').textContent.slice(0, 60) || 'a formula with an unknown command'),
    text: text.join(' '),
    images: [...article.querySelectorAll('img')].map(i => ({src: i.getAttribute('src'),
      alt: i.getAttribute('alt') || '', shown: i.complete && i.naturalWidth > 0})),
    links: [...document.querySelectorAll('a[href]')].map(a => a.href),
    ids: [...document.querySelectorAll('[id]')].map(e => e.id),
    widgets: article.querySelectorAll('.erc-steps').length,
    explorers: article.querySelectorAll('.erc-explorer').length,
    quizzes: article.querySelectorAll('.erc-quiz').length,
    checklists: article.querySelectorAll('.task-list-item-checkbox').length,
    bytes: ['navigation', 'resource'].flatMap(kind => performance.getEntriesByType(kind))
      .reduce((sum, each) => sum + each.decodedBodySize, 0),
  };
}"""

WIDTH = """() => {
  const page = document.scrollingElement, limit = document.documentElement.clientWidth;
  if (page.scrollWidth <= limit) return null;
  const wide = [...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > limit + 1);
  return page.scrollWidth + ' px: ' + wide.slice(0, 3).map(e => e.tagName + '.' + e.className).join(', ');
}"""

# Pictures that are not as high as their width asks for.
BENT = """() => [...document.querySelectorAll('article img')].filter(i => i.naturalWidth && i.clientWidth &&
  Math.abs(i.clientHeight - i.clientWidth * i.naturalHeight / i.naturalWidth) > 2).map(i => i.getAttribute('src'))"""

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


sys.path.append(str(ROOT / "book/_ext"))
from npm import AXE, fetched  # noqa: E402  # the book's own extensions are no package

# What axe-core finds wrong with a page, a line each; only these rules if some are named.
AXE_RUN = """async rules => {
  const only = rules ? {runOnly: rules} : {};
  const found = await axe.run(document, {resultTypes: ['violations'], ...only});
  return found.violations.flatMap(each =>
    each.nodes.map(node => `${each.id}: ${node.target.join(' ')}: ${node.html.slice(0, 90)}`));
}"""


class Quiet(http.server.SimpleHTTPRequestHandler):
    """A file server that does not log."""

    def log_message(self, *args) -> None:
        """Say nothing."""


class Server(http.server.ThreadingHTTPServer):
    """A server that does not mind a browser that hangs up."""

    def handle_error(self, request, client_address) -> None:
        """Say nothing of a broken connection, all of anything else."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class Checks:
    """Counts what passed and prints what failed."""

    def __init__(self) -> None:
        self.passed, self.failed = 0, 0

    def __call__(self, ok: bool, what: str, detail: object = "") -> None:
        """Note one check."""
        if ok:
            self.passed += 1
        else:
            self.failed += 1
            print(f"FAILED  {what}: {detail}", flush=True)


def find_browser() -> str | None:
    """Return the path of an installed browser; None: the one that playwright brought, if any."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def visit(page: Page, url: str, host: str) -> tuple[dict, list[str], list[str]]:
    """Load one page; return what it tells, the requests to other hosts, and the errors it caused."""
    foreign: list[str] = []
    errors: list[str] = []

    def on_request(request) -> None:
        if urlparse(request.url).scheme in ("http", "https", "ws", "wss") and urlparse(request.url).netloc != host:
            foreign.append(request.url)

    handlers = {
        "request": on_request,
        "response": lambda r: errors.append(f"{r.status} {r.url}") if r.status >= 400 else None,
        "requestfailed": lambda r: errors.append(f"{r.failure} {r.url}"),
        "console": lambda m: errors.append(m.text) if m.type == "error" else None,
        "pageerror": lambda e: errors.append(str(e)),
    }
    for event, handler in handlers.items():
        page.on(event, handler)
    page.goto(url, wait_until="load")
    # MathJax says when it has typeset the page
    page.evaluate("async () => { if (window.MathJax && MathJax.startup) await MathJax.startup.promise }")
    page.evaluate("() => document.querySelectorAll('img').forEach(i => i.loading = 'eager')")
    with contextlib.suppress(TimeoutError):
        page.wait_for_load_state("networkidle", timeout=5_000)
    told = page.evaluate(INSPECT)
    for event, handler in handlers.items():
        page.remove_listener(event, handler)
    return told, foreign, errors


def check_page(check: Checks, name: str, told: dict, foreign: list[str], errors: list[str]) -> None:
    """Check what one page told."""
    check(not foreign, f"{name} asks no other host", foreign[:3])
    check(not errors, f"{name} loads without an error", errors[:3])
    check(not told["untypeset"] and not told["errors"], f"{name} mathematics", told["untypeset"] + told["errors"])
    most = MOST_BYTES + WIDGET_BYTES * (told["widgets"] + told["explorers"] > 0)
    check(told["bytes"] <= most, f"{name} weighs at most {most / 1e6:.1f} MB", f"{told['bytes'] / 1e6:.2f} MB")
    raw = re.findall(r"\$[^$\n]{1,60}\$|\\\(|\\\[|\\frac|\\alpha", told["text"])
    check(not raw, f"{name} has no raw mathematics", raw[:3])
    for image in told["images"]:
        alt = image["alt"].strip()
        check(bool(alt) and not FILE_NAME.match(alt), f"{name} {image['src']} alternative text", repr(alt))
        check(image["shown"], f"{name} {image['src']} is shown")


def rules_of_access() -> str | None:
    """The script of axe-core; None where it cannot be fetched."""
    try:
        return (fetched(AXE, ROOT / "build") / AXE.files[0]).read_text(encoding="utf-8")
    except OSError as error:
        print(f"axe-core could not be fetched, so no page was asked for accessibility: {error}")
        return None


def check_access(check: Checks, page: Page, name: str, axe: str | None) -> None:
    """Ask axe-core about a page on a desktop, in light and, for its contrasts, in dark; then as a phone shows it.

    Listings are all alike.
    """
    if axe is None or (name.startswith("_modules/") and name != "_modules/index.html"):
        return
    page.add_style_tag(content="* { transition: none !important }")  # a colour on its way to another one is neither
    page.evaluate(axe)
    wrong = page.evaluate(AXE_RUN, None)
    page.set_viewport_size(PHONE)
    page.wait_for_timeout(FITTED)
    wrong += [f"on a phone: {each}" for each in page.evaluate(AXE_RUN, PHONE_RULES)]
    page.set_viewport_size(DESKTOP)
    page.evaluate("document.documentElement.dataset.theme = 'dark'")
    wrong += page.evaluate(AXE_RUN, ["color-contrast"])
    page.evaluate("document.documentElement.dataset.theme = 'light'")
    check(not wrong, f"{name} is accessible: {len(wrong)} violations", wrong[:3])


def check_marks(check: Checks, page: Page, url: str) -> None:
    """Check marks of a checklist can be set, and are there again when the page is opened again."""
    box = page.locator(".task-list-item-checkbox")
    for checked in (True, False):
        page.goto(url, wait_until="load")
        check(box.nth(1).is_checked() is not checked, f"{url}: a check mark is kept", f"set before: {not checked}")
        box.nth(1).set_checked(checked)
    page.goto(url, wait_until="load")
    check(not box.nth(1).is_checked(), f"{url}: a check mark can be taken away")


def check_links(check: Checks, told: dict[str, dict], base: str, root: Path) -> None:
    """Check that every link within the book leads to a file, and to a place in it if it names one."""
    ids = {url: set(page["ids"]) for url, page in told.items()}
    for url, page in told.items():
        bad = []
        for link in sorted(set(page["links"])):
            target, fragment = urldefrag(link)
            if not target.startswith(base):
                continue
            path = root / unquote(urlparse(target).path).lstrip("/")
            setting = fragment.startswith(LINK) and target in told and told[target]["explorers"]
            lost = fragment and target in ids and unquote(fragment) not in ids[target] and not setting
            if not path.exists() or lost:
                bad.append(link.removeprefix(base))
        check(not bad, f"{url.removeprefix(base)} links", bad[:5])


def check_search(check: Checks, page: Page, base: str) -> None:
    """Search as a reader does: a term's other name leads to its entry, a word to its first place on a page."""

    def hits(words: str) -> list:
        page.goto(f"{base}/search.html?q={words}", wait_until="load")
        page.wait_for_selector("#search-results li a", timeout=15_000)
        page.wait_for_timeout(500)
        return page.query_selector_all("#search-results li > a")

    try:
        named = [link.inner_text() for link in hits("ring")]
        check(any(re.search("ring|collective", name, re.IGNORECASE) for name in named), 'search for "ring"', named[:5])
        led = [link.get_attribute("href") for link in hits("busbw")]
        check(any("glossary.html#term-busbw" in link for link in led), 'search for "busbw"', led[:5])
        next(link for link in hits("Kahan") if "chapters/" in link.get_attribute("href")).click()
        page.wait_for_function("scrollY > 0 && document.querySelector('.highlighted')", timeout=15_000)
        top = page.evaluate("document.querySelector('.highlighted').getBoundingClientRect().top")
        check(0 < top < DESKTOP["height"], 'the page that "Kahan" leads to shows the word', top)
    except (Error, StopIteration) as error:
        check(False, "search", str(error).splitlines()[:1])


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

    def __init__(self, check: Checks, widget, where: str, hit: str):
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


def check_step_through(check: Checks, browser, name: str, url: str) -> None:
    """Step through every recording of a page, by mouse and keyboard on a desktop, by touch on a phone."""
    page = browser.new_context(viewport=DESKTOP).new_page()
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
    context = browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True, reduced_motion="reduce")
    page, small = context.new_page(), "e => ['width', 'height'].map(d => e.getBoundingClientRect()[d])"
    page.goto(url, wait_until="load")
    page.set_default_timeout(10_000)
    for number, widget in enumerate(page.locator(".erc-steps").all()):
        stepper = Stepper(check, widget, f"{name} step-through {number} on a phone", "tap")
        for algorithm in reversed(range(len(stepper.runs))):
            stepper.choose(algorithm)
            check((wide := page.evaluate(WIDTH)) is None, f"{stepper.where} fits", wide)
        stepper.buttons()
        stepper.slider()
        stepper.swipe(page)
        sizes = [part.evaluate(small) for part in widget.locator("button, input").all()]
        check(min(map(min, sizes)) >= 40, f"{stepper.where}: a finger hits every control", sizes)
        moving = widget.evaluate("w => getComputedStyle(w.querySelector('.cell')).transitionDuration")
        check(moving == "0s", f"{stepper.where}: nothing moves for those who want no motion", moving)
    context.close()


def pages_of(root: Path) -> list[str]:
    """Return the pages of the book, relative to its folder."""
    found = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.html"))]
    own = ("_static/", "_sources/", "_images/", "index.html")  # the last one only leads to the front page
    return [name for name in found if not name.startswith(own)]


def check_book(root: Path, screenshots: Path | None = None) -> Checks:
    """Check every page of the book under `root`."""
    check = Checks()
    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    host = f"127.0.0.1:{server.server_address[1]}"
    base = f"http://{host}"
    names = pages_of(root)
    check(len(names) > 5, "the book has pages", names)
    told: dict[str, dict] = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        page, axe = browser.new_context(viewport=DESKTOP).new_page(), rules_of_access()
        for name in names:
            url = f"{base}/{name}"
            told[url], foreign, errors = visit(page, url, host)
            check_page(check, name, told[url], foreign, errors)
            page.set_viewport_size(PHONE)
            check((wide := page.evaluate(WIDTH)) is None, f"{name} fits a phone", wide)
            check(not (bent := page.evaluate(BENT)), f"{name} has no picture out of shape on a phone", bent)
            page.set_viewport_size(DESKTOP)
            check_access(check, page, name, axe)
        check_marks(check, page, next(url for url, told_of in told.items() if told_of["checklists"]))
        page.goto(f"{base}/index.html")
        page.wait_for_url("**/book/index.html")
        check(any(page["formulas"] for page in told.values()), "some page has mathematics")
        steps = {url: page["widgets"] for url, page in told.items() if page["widgets"]}
        check(bool(steps), "some page has a step-through", "the chapter on collectives should have one")
        for url in steps:
            name = url.removeprefix(f"{base}/")
            try:
                check_step_through(check, browser, name, url)
            except Error as error:  # something is not there, or cannot be clicked
                check(False, f"{name} step-through", error)
        explorers = [url for url, page in told.items() if page["explorers"]]
        check(bool(explorers), "some page has an explorer", "the one on pipeline schedules should have one")
        for url in explorers:
            name, into = (
                url.removeprefix(f"{base}/"),
                [urldefrag(link) for page in told.values() for link in page["links"]],
            )
            links = {fragment for target, fragment in into if target == url and fragment.startswith(LINK)}
            try:
                check_explorer(check, browser, name, url, links, DESKTOP, PHONE, WIDTH)
                check_offline(check, browser, root / name)
            except Error as error:
                check(False, f"{name} explorer", error)
        check_quizzes(check, browser, [url for url, page in told.items() if page["quizzes"]], base, root)
        check_links(check, told, base, root)
        check_search(check, page, base)
        if screenshots:
            take_screenshots(browser, [n for n in names if n.startswith(("book/", "chapters/"))], base, screenshots)
        browser.close()
    server.shutdown()
    formulas = sum(page["formulas"] for page in told.values())
    images = sum(len(page["images"]) for page in told.values())
    print(f"{len(names)} pages, {formulas} formulas, {images} pictures: {check.passed} passed, {check.failed} failed")
    return check


def check_quizzes(check: Checks, browser, urls: list[str], base: str, root: Path) -> None:
    """Check the pages with questions; there must be one."""
    check(bool(urls), "some page has a quiz", "the one on predictions should have some")
    for url in urls:
        name = url.removeprefix(f"{base}/")
        try:
            check_quiz(check, browser, name, url, DESKTOP, PHONE, WIDTH)
            check_quiz_offline(check, browser, root / name)
        except Error as error:
            check(False, f"{name} quiz", error)


def take_screenshots(browser, names: list[str], base: str, folder: Path) -> None:
    """Store a picture of every page, on a desktop and on a phone, in light and in dark."""
    folder.mkdir(parents=True, exist_ok=True)
    for size, scheme in ((DESKTOP, "light"), (DESKTOP, "dark"), (PHONE, "light"), (PHONE, "dark")):
        page = browser.new_context(viewport=size, color_scheme=scheme).new_page()
        for name in names:
            page.goto(f"{base}/{name}", wait_until="networkidle")
            file = f"{name.removesuffix('.html').replace('/', '-')}-{size['width']}-{scheme}.png"
            page.screenshot(path=folder / file, full_page=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("html", type=Path, nargs="?", default=Path("build/_build/html"))
    parser.add_argument("--screenshots", type=Path)
    arguments = parser.parse_args()
    if not arguments.html.is_dir():
        sys.exit(f"{arguments.html} is not there: run `make book` first")
    sys.exit(1 if check_book(arguments.html.resolve(), arguments.screenshots).failed else 0)
