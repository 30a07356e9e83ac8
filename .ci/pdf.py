"""Print the built book into one PDF: `make pdf`.

    python .ci/pdf.py build/_build/html build/every-rank-counts.pdf

The headless Chromium of check_book.py prints every page, with its mathematics, as a reader would. The pages are put
together in the order of the table of contents, which becomes the outline; a link to another page of the book leads
there in the PDF. Then the file is opened again: every title must be in the outline, and text of a formula be there.
"""

from __future__ import annotations

import argparse
import functools
import io
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urldefrag

import yaml
from check_book import FLAGS, Quiet, Server, find_browser
from playwright.sync_api import Page, sync_playwright
from pypdf import PdfReader, PdfWriter
from pypdf.annotations import Link
from pypdf.generic import ArrayObject, Fit

from chapters import ROOT

FORMULA = "⋅"  # which MathJax makes of \cdot, and no text of the book has
MARGIN = {"top": "16mm", "bottom": "16mm", "left": "14mm", "right": "14mm"}
OPENED = "() => document.querySelectorAll('details').forEach(each => each.open = true)"
TITLE = "() => document.querySelector('article h1').firstChild.textContent.trim()"


def contents(part: dict | list, depth: int = 0) -> Iterator[tuple[str, int]]:
    """Yield (page, depth) in the order of a table of contents."""
    if isinstance(part, list):
        for item in part:
            yield from contents(item, depth)
        return
    for key in ("root", "file"):
        if key in part:
            yield part[key], depth
    for key in ("parts", "chapters"):
        yield from contents(part.get(key, []), depth)
    yield from contents(part.get("sections", []), depth + 1)


def printed(page: Page, url: str) -> tuple[str, bytes]:
    """The title of a page, and the page as a PDF; what is folded is open."""
    page.goto(url, wait_until="load")
    page.evaluate("async () => { if (window.MathJax && MathJax.startup) await MathJax.startup.promise }")
    page.evaluate("() => document.querySelectorAll('img').forEach(each => each.loading = 'eager')")
    page.evaluate(OPENED)
    return page.evaluate(TITLE), page.pdf(format="A4", margin=MARGIN, print_background=True)


def together(pages: list[tuple[str, int, str, bytes]], base: str) -> PdfWriter:
    """One PDF of pages, each (name, depth, title, PDF), with an outline, and links that lead from page to page."""
    writer, above, first = PdfWriter(), {}, {}
    for name, depth, title, data in pages:
        start = first[f"{base}/{name}.html"] = len(writer.pages)
        writer.append(io.BytesIO(data), import_outline=False)
        above[depth] = writer.add_outline_item(
            title=title, page_number=start, parent=above.get(depth - 1) if depth else None
        )
    for number, page in enumerate(list(writer.pages)):
        _lead(writer, number, page, first)
    return writer


def _lead(writer: PdfWriter, number: int, page, first: dict[str, int]) -> None:
    """Let the links of a page that lead to pages of the book lead to them in the PDF."""
    kept, led = ArrayObject(), []
    for reference in page.get("/Annots", []):
        annotation = reference.get_object()
        target = urldefrag(str(annotation.get("/A", {}).get("/URI", "")))[0]
        if target in first:
            led.append((annotation["/Rect"], first[target]))
        else:
            kept.append(reference)
    if led:
        page[next(key for key in page if key == "/Annots")] = kept
    for rect, start in led:
        link = Link(rect=rect, target_page_index=start, fit=Fit.fit_horizontally(), border=[0, 0, 0])
        writer.add_annotation(number, link)


def faults(file: Path, titles: list[str]) -> list[str]:
    """What the PDF lacks, a line each."""
    reader = PdfReader(file)
    found = [item.title for item in _flat(reader.outline)]
    text = "".join(page.extract_text() for page in reader.pages)
    lacking = [f"{title!r} is not in the outline" for title in titles if title not in found]
    return lacking + ["no formula is there"] * (FORMULA not in text) + ["there are no pages"] * (not titles)


def _flat(outline: list) -> Iterator:
    for item in outline:
        yield from _flat(item) if isinstance(item, list) else [item]


def main(arguments: list[str]) -> int:
    """Print the book, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("html", type=Path, help="folder of the built book")
    parser.add_argument("pdf", type=Path, help="file to write")
    asked = parser.parse_args(arguments)
    server = Server(("127.0.0.1", 0), functools.partial(Quiet, directory=str(asked.html)))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    base, pages = f"http://127.0.0.1:{server.server_port}", []
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=find_browser(), args=FLAGS)
        page = browser.new_page()
        for name, depth in contents(yaml.safe_load((ROOT / "book/_toc.yml").read_text())):
            pages.append((name, depth, *printed(page, f"{base}/{name}.html")))
        browser.close()
    server.shutdown()
    writer = together(pages, base)
    writer.compress_identical_objects(remove_unreferenced=True)
    writer.add_metadata({"/Title": "Every Rank Counts"})
    writer.write(asked.pdf)
    wrong = faults(asked.pdf, [title for _, _, title, _ in pages])
    print("\n".join(wrong) or f"{asked.pdf}: {len(writer.pages)} pages, {asked.pdf.stat().st_size / 1e6:.1f} MB")
    return len(wrong) > 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
