"""Look at the built book in a headless Chromium, as a reader on a desktop and on a phone does.

    python .ci/check_book.py build/_build/html [--screenshots FOLDER]

Every page must load without a request to another host, without an error on the console and without a missing file; its
mathematics must be typeset; its pictures must have an alternative text; its links within the book must lead somewhere;
it must fit a phone and weigh at most 1.5 MB; axe-core must find nothing against its accessibility, on a desktop and on
a phone (check_access.py); and a search for "ring" must find something. Some page must have a step-through of recorded
all-reduces (check_steps.py); some page an explorer of schedules (check_explorer.py); some page a quiz (check_quiz.py);
some page a calculator (check_form.py); some page a checklist whose marks stay. Of listings that are alike but for their
text some are opened (listings.py), of the others the links are followed. A browser a core, and one more, share the
pages. Exit status 0 only if all of it holds.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import os
import re
import shutil
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

from check_access import Looks, violations
from check_explorer import LINK, check_explorer, check_offline
from check_form import check_forms, check_forms_offline
from check_quiz import check_quiz, check_quiz_offline
from check_steps import check_step_through
from listings import told_by_file, unopened
from playwright.sync_api import Browser, Error, Page, TimeoutError, sync_playwright

from chapters import ROOT

MOST_BYTES, WIDGET_BYTES = 1_500_000, 500_000  # of a page with all that it loads, as stored; and of its widgets
IDLE_MS = 5_000  # for a page to have all that it asked for
DESKTOP, PHONE = {"width": 1280, "height": 900}, {"width": 390, "height": 844}
FLAGS = (
    "--no-sandbox --disable-gpu --disable-quic --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync"
).split()
CORES = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
WORKERS = CORES + 1  # browsers; each waits at times
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
    forms: article.querySelectorAll('.erc-form').length,
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

# Formulas are typeset, and pictures are there, also those far below.
LOADED = """async () => {
  if (window.MathJax && MathJax.startup) await MathJax.startup.promise;
  await Promise.all([...document.images].map(each => {
    each.loading = 'eager';
    return each.decode().catch(() => {});
  }));
}"""

# A while after which formulas have been fitted to a new width, and what scrolls now has become a tab stop.
FITTED = "() => new Promise(done => setTimeout(done, 400))"

sys.path.append(str(ROOT / "book/_ext"))
from npm import AXE, fetched  # noqa: E402  # the book's own extensions are no package


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
        self.passed, self.failed, self.one = 0, 0, threading.Lock()

    def __call__(self, ok: bool, what: str, detail: object = "") -> None:
        """Note one check."""
        with self.one:
            if ok:
                self.passed += 1
            else:
                self.failed += 1
                print(f"FAILED  {what}: {detail}", flush=True)


def find_browser() -> str | None:
    """Return the path of an installed browser; None: the one that playwright brought, if any."""
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


@contextlib.contextmanager
def listening(page: Page, host: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield two lists that grow as long as the page is listened to: requests to other hosts, and errors."""
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
    yield foreign, errors
    for event, handler in handlers.items():
        page.remove_listener(event, handler)


def forget_fonts(page: Page) -> None:
    """Empty the memory of the page's process: what is in it, fonts of earlier pages, too, would count as loaded."""
    session = page.context.new_cdp_session(page)
    session.send("Network.enable")
    for off in (True, False):
        session.send("Network.setCacheDisabled", {"cacheDisabled": off})
    session.detach()


def resize(page: Page, size: dict) -> None:
    """Show the page in another width, and let it settle."""
    page.set_viewport_size(size)
    page.evaluate(FITTED)


def visit(check: Checks, page: Page, url: str, name: str, axe: str | None, looks: Looks, thorough: bool) -> dict:
    """Load one page and check it; return what it tells."""
    with listening(page, urlparse(url).netloc) as (foreign, errors):
        forget_fonts(page)
        page.goto(url, wait_until="load")
        page.evaluate(LOADED)
        told = page.evaluate(INSPECT)
        resize(page, PHONE)
        check((wide := page.evaluate(WIDTH)) is None, f"{name} fits a phone", wide)
        check(not (bent := page.evaluate(BENT)), f"{name} has no picture out of shape on a phone", bent)
        check_access(check, page, name, axe, looks, thorough)
        with contextlib.suppress(TimeoutError):  # it is idle since long, as a rule: to wait here costs nothing
            page.wait_for_load_state("networkidle", timeout=IDLE_MS)
    check_page(check, name, told, foreign, errors)
    return told


def check_page(check: Checks, name: str, told: dict, foreign: list[str], errors: list[str]) -> None:
    """Check what one page told."""
    check(not foreign, f"{name} asks no other host", foreign[:3])
    check(not errors, f"{name} loads without an error", errors[:3])
    check(not told["untypeset"] and not told["errors"], f"{name} mathematics", told["untypeset"] + told["errors"])
    extra = told["widgets"] + told["explorers"] > 0
    most = MOST_BYTES + WIDGET_BYTES * extra
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


def check_access(check: Checks, page: Page, name: str, axe: str | None, looks: Looks, thorough: bool) -> None:
    """Ask axe-core about a page on a phone, then on a desktop, which it is left on; thorough: about all texts."""
    if axe is None:
        return page.set_viewport_size(DESKTOP)
    page.add_style_tag(content="* { transition: none !important }")  # a colour on its way to another one is neither
    page.evaluate(axe)
    wrong = []
    for size in (PHONE, DESKTOP):
        if size != PHONE:
            resize(page, size)
        wrong += [f"{size['width']} px, {each}" for each in violations(page, looks, size == PHONE, thorough)]
    return check(not wrong, f"{name} is accessible: {len(wrong)} violations", wrong[:3])


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
    pages = {f"{base}/{name}": page for name, page in told.items()}
    ids = {url: set(page["ids"]) for url, page in pages.items()}
    for url, page in pages.items():
        bad = []
        for link in sorted(set(page["links"])):
            target, fragment = urldefrag(link)
            if not target.startswith(base):
                continue
            path = root / unquote(urlparse(target).path).lstrip("/")
            setting = fragment.startswith(LINK) and target in pages and pages[target]["explorers"]
            lost = fragment and target in ids and unquote(fragment) not in ids[target] and not setting
            if not path.exists() or lost:
                bad.append(link.removeprefix(base))
        check(not bad, f"{url.removeprefix(base)[1:]} links", bad[:5])


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


def pages_of(root: Path) -> list[str]:
    """Return the pages of the book, relative to its folder."""
    found = [path.relative_to(root).as_posix() for path in sorted(root.rglob("*.html"))]
    own = ("_static/", "_sources/", "_images/", "index.html")  # the last one only leads to the front page
    return [name for name in found if not name.startswith(own)]


Job = tuple[str, Callable[[Browser, Page], None]]  # the name of what is checked, and how


def carry_out(check: Checks, jobs: list[Job]) -> None:
    """Do all jobs, each in one of WORKERS browsers; one that cannot go on has failed."""
    left = iter(jobs)

    def work() -> None:
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
            page = browser.new_context(viewport=DESKTOP).new_page()
            for name, job in left:
                try:
                    job(browser, page)
                except Error as error:  # something is not there, or cannot be clicked
                    check(False, name, error)
            browser.close()

    with ThreadPoolExecutor(WORKERS) as pool:
        for done in [pool.submit(work) for _ in range(WORKERS)]:
            done.result()


def check_book(root: Path, screenshots: Path | None = None) -> Checks:
    """Check every page of the book under `root`."""
    check, axe, names = Checks(), rules_of_access(), pages_of(root)
    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=str(root)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}"
    check(len(names) > 5, "the book has pages", names)
    alike, sample = unopened(root, names), {Path(name).parent: name for name in names}.values()
    told: dict[str, dict] = {}
    looks = Looks()

    def visit_one(name: str, _: Browser, page: Page) -> None:
        told[name] = visit(check, page, f"{base}/{name}", name, axe, looks, name in sample)

    opened = sorted(set(names) - alike, key=lambda name: -(root / name).stat().st_size)  # so that none is last and long
    carry_out(check, [(name, functools.partial(visit_one, name)) for name in opened])
    check(any(page["formulas"] for page in told.values()), "some page has mathematics")
    carry_out(check, jobs_of_widgets(check, told, base, root))
    files = {name: told_by_file((root / name).read_text(encoding="utf-8"), f"{base}/{name}") for name in alike}
    check_links(check, told | files, base, root)
    if screenshots:
        shown = [name for name in names if name.startswith(("book/", "chapters/"))]
        carry_out(check, [("screenshots", lambda browser, _: take_screenshots(browser, shown, base, screenshots))])
    server.shutdown()
    formulas = sum(page["formulas"] for page in told.values())
    images = sum(len(page["images"]) for page in told.values())
    what = f"{len(names)} pages, {len(alike)} of them listings like others, {formulas} formulas, {images} pictures"
    print(f"{what}: {check.passed} passed, {check.failed} failed")
    return check


def jobs_of_widgets(check: Checks, told: dict[str, dict], base: str, root: Path) -> list[Job]:
    """The jobs that use what can be used in the pages, the longest first; a page must have each kind."""
    pages = {
        kind: [name for name, page in told.items() if page[kind]]
        for kind in ("quizzes", "explorers", "forms", "widgets", "checklists")
    }
    for kind, having in pages.items():
        check(bool(having), f"some page has {kind}")
    asked = [urldefrag(link) for page in told.values() for link in page["links"]]
    sizes = DESKTOP, PHONE, WIDTH

    def quiz(name: str, browser: Browser, _: Page) -> None:
        check_quiz(check, browser, name, f"{base}/{name}", *sizes)
        check_quiz_offline(check, browser, root / name)

    def explorer(name: str, browser: Browser, _: Page) -> None:
        url = f"{base}/{name}"
        links = {fragment for target, fragment in asked if target == url and fragment.startswith(LINK)}
        check_explorer(check, browser, name, url, links, *sizes)
        check_offline(check, browser, root / name)

    def forms(name: str, browser: Browser, _: Page) -> None:
        check_forms(check, browser, name, f"{base}/{name}", *sizes)
        check_forms_offline(check, browser, root / name)

    def steps(name: str, browser: Browser, _: Page) -> None:
        check_step_through(check, browser, name, f"{base}/{name}", *sizes)

    def marks(name: str, _: Browser, page: Page) -> None:
        check_marks(check, page, f"{base}/{name}")

    pages["checklists"] = pages["checklists"][:1]  # all are alike
    used = (("quizzes", quiz), ("explorers", explorer), ("forms", forms), ("widgets", steps), ("checklists", marks))
    return [
        *((f"{name} {kind}", functools.partial(use, name)) for kind, use in used for name in pages[kind]),
        ("search", lambda _, page: check_search(check, page, base)),
        ("front page", lambda _, page: check_front(page, base)),
    ]


def check_front(page: Page, base: str) -> None:
    """The book's address leads to its front page: else this raises an Error."""
    page.goto(f"{base}/index.html")
    page.wait_for_url("**/book/index.html")


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
