"""Look at the built book in a headless Chromium, as a reader on a desktop and on a phone does.

    python .ci/check_book.py build/_build/html [--screenshots FOLDER]

Every page must load without a request to another host, without an error on the console and without a missing file; its
mathematics must be typeset; its pictures must have an alternative text; its links within the book must lead somewhere;
it must fit a phone; and a search for "ring" must find something. Exit status 0 only if all of it holds.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import http.server
import re
import shutil
import sys
import threading
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlparse

from playwright.sync_api import Page, TimeoutError, sync_playwright

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
  };
}"""

WIDTH = """() => {
  const page = document.scrollingElement, limit = document.documentElement.clientWidth;
  if (page.scrollWidth <= limit) return null;
  const wide = [...document.querySelectorAll('article *')].filter(e => e.getBoundingClientRect().right > limit + 1);
  return page.scrollWidth + ' px: ' + wide.slice(0, 3).map(e => e.tagName + '.' + e.className).join(', ');
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
    raw = re.findall(r"\$[^$\n]{1,60}\$|\\\(|\\\[|\\frac|\\alpha", told["text"])
    check(not raw, f"{name} has no raw mathematics", raw[:3])
    for image in told["images"]:
        alt = image["alt"].strip()
        check(bool(alt) and not FILE_NAME.match(alt), f"{name} {image['src']} alternative text", repr(alt))
        check(image["shown"], f"{name} {image['src']} is shown")


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
            lost = fragment and target in ids and unquote(fragment) not in ids[target]
            if not path.exists() or lost:
                bad.append(link.removeprefix(base))
        check(not bad, f"{url.removeprefix(base)} links", bad[:5])


def check_search(check: Checks, page: Page, base: str) -> None:
    """Search for "ring", as a reader does."""
    page.goto(f"{base}/search.html?q=ring", wait_until="load")
    try:
        page.wait_for_selector("#search-results li a", timeout=15_000)
        hits = [link.inner_text() for link in page.query_selector_all("#search-results li a")]
    except Exception as error:
        hits = [str(error).splitlines()[0]]
        check(False, 'search for "ring"', hits)
        return
    check(any(re.search("ring|collective", hit, re.IGNORECASE) for hit in hits), 'search for "ring"', hits[:5])


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
        page = browser.new_context(viewport=DESKTOP).new_page()
        for name in names:
            url = f"{base}/{name}"
            told[url], foreign, errors = visit(page, url, host)
            check_page(check, name, told[url], foreign, errors)
            page.set_viewport_size(PHONE)
            check((wide := page.evaluate(WIDTH)) is None, f"{name} fits a phone", wide)
            page.set_viewport_size(DESKTOP)
        page.goto(f"{base}/index.html")
        page.wait_for_url("**/book/index.html")
        check(any(page["formulas"] for page in told.values()), "some page has mathematics")
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
