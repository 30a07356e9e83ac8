"""What the book's own extensions do to pages, and with files from a registry."""

import functools
import hashlib
import http.server
import sys
import tarfile
import threading
from io import BytesIO

import pytest

from .files import ROOT

sys.path.append(str(ROOT / "book/_ext"))
import light  # extensions of Sphinx are no package
import repository
from accessible import CHANGES, WIDE, mark_wide
from npm import Package, fetched
from PIL import Image


def amended(html: str) -> str:
    for pattern, instead in CHANGES:
        html = pattern.sub(instead, html)
    return html


@pytest.mark.parametrize(
    "before, after",
    [
        ('<th class="head"><p></p></th>', "<td></td>"),
        ('<th class="head"><p>P</p></th>', '<th class="head"><p>P</p></th>'),
        ('<summary aria-label="Toggle hidden content">', "<summary>"),
        (
            '<dl>\n<dd><em class="sig-param">a</em>,</dd>\n<dd><em class="sig-param">b</em></dd>\n</dl>',
            '<div class="sig-params">\n<div><em class="sig-param">a</em>,</div>\n'
            '<div><em class="sig-param">b</em></div>\n</div>',
        ),
        ("<dl>\n<dt>a</dt>\n<dd>b</dd>\n</dl>", "<dl>\n<dt>a</dt>\n<dd>b</dd>\n</dl>"),
        ("<ul><li>a</li>\n<ul><li>b</li>\n</ul><li>c</li>\n</ul>", "<ul><li>a</li><li>b</li>\n<li>c</li>\n</ul>"),
        (
            '<span class="pre">compression_speedup</span> <span class="pre">a_name</span>',
            '<span class="pre">compression_<wbr>speedup</span> <span class="pre">a_name</span>',
        ),
        ('<span class="pre">torch.distributed._x</span>', '<span class="pre">torch.<wbr>distributed._<wbr>x</span>'),
        ("<ul><li>a<ul><li>b</li>\n</ul></li>\n</ul>", "<ul><li>a<ul><li>b</li>\n</ul></li>\n</ul>"),
    ],
)
def test_what_is_wrong_is_put_right_and_nothing_else(before, after):
    assert amended(before) == after == amended(after)


@pytest.mark.parametrize("pixels, marked", [(WIDE, False), (WIDE + 1, True)])
def test_a_figure_with_more_pixels_than_a_phone_shows_is_marked_as_wide(tmp_path, pixels, marked):
    (tmp_path / "chapters").mkdir()
    Image.new("1", (pixels, 1)).save(tmp_path / "a.png")
    page = '<a class="reference internal image-reference{}" href="../a.png"><img alt="a" src="../a.png" /></a>'
    found = mark_wide(page.format(""), tmp_path / "chapters")
    assert found == page.format(" wide" if marked else "") == mark_wide(found, tmp_path / "chapters")


@pytest.fixture
def registry(tmp_path, monkeypatch):
    """A registry with one package, `thing` 1.0, of one file; gives the SHA-256 of its archive."""
    packed = BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        info = tarfile.TarInfo("package/thing.js")
        info.size = 5
        archive.addfile(info, BytesIO(b"words"))
    folder = tmp_path / "registry/thing/-"
    folder.mkdir(parents=True)
    (folder / "thing-1.0.tgz").write_bytes(packed.getvalue())
    handler = functools.partial(http.server.SimpleHTTPRequestHandler, directory=str(tmp_path / "registry"))
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", f"http://127.0.0.1:{server.server_port}/")
    yield hashlib.sha256(packed.getvalue()).hexdigest()
    server.shutdown()


def test_a_package_is_fetched_once(registry, tmp_path, monkeypatch):
    thing = Package("thing", "1.0", registry, ("thing.js",))
    folder = fetched(thing, tmp_path / "build")
    assert (folder / "thing.js").read_text() == "words"
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9")
    assert fetched(thing, tmp_path / "build") == folder


def test_another_archive_is_not_taken(registry, tmp_path):
    with pytest.raises(ValueError, match=f"its SHA-256 is {registry}, and 00 is wanted"):
        fetched(Package("thing", "1.0", "00", ("thing.js",)), tmp_path / "build")
    assert not (tmp_path / "build").exists()


def test_no_registry_is_an_error_of_the_system(tmp_path, monkeypatch):
    monkeypatch.setenv("NPM_CONFIG_REGISTRY", "http://127.0.0.1:9")
    with pytest.raises(OSError):
        fetched(Package("thing", "1.0", "00", ("thing.js",)), tmp_path / "build")


SHEET = """
/* a comment */
.used, .unused > p { color: red }
.unused { color: blue }
h1:is(.used, .unused) { margin: 0 }
@media print { .unused { color: green } .used a::before { content: "\\f0c9" } }
@media screen { .unused { color: green } }
@font-face { font-family: x; src: url(x.woff2) }
"""


def test_of_a_style_sheet_stays_what_a_page_can_need():
    left = light.without_unused(SHEET, {"used"})
    assert left.count("red") == 1 and "blue" not in left and "green" not in left and "comment" not in left
    assert "unused >" not in left and ":is(.used" in left and "screen" not in left
    assert "@font-face" in left and "\uf0c9" in left.replace("\\f0c9", "\uf0c9")
    assert light.without_unused(left, {"used"}) == left


LIBRARY = 'a={"bars":[448,512,["navicon"],"f0c9","M0 96z"],sun:[512,512,[],"f185","M1 2z"]}'


def test_an_icon_becomes_a_drawing_with_its_classes():
    page = '<p><i class="fa-solid fa-bars big"></i><i class="fa-solid fa-sun" aria-label="light"></i></p>'
    drawn = light.ICON.sub(lambda found: light.drawing(found, LIBRARY, {}), page)
    assert "<i " not in drawn and drawn.count("<svg") == drawn.count("</svg>") == 2
    assert 'class="svg-inline--fa fa-solid fa-bars big" aria-hidden="true" viewBox="0 0 448 512"' in drawn
    assert 'aria-label="light" viewBox' in drawn and "M0 96z" in drawn


def test_an_icon_that_is_lacking_is_named():
    with pytest.raises(ValueError, match="no icon 'moon'"):
        light.ICON.sub(lambda found: light.drawing(found, LIBRARY, {}), '<i class="fa-solid fa-moon"></i>')


def test_a_page_without_search_loads_no_index(tmp_path):
    (tmp_path / light.ICONS).parent.mkdir(parents=True)
    (tmp_path / light.ICONS).write_text(LIBRARY)
    scripts = '<script src="../_static/searchtools.js"></script>\n<script src="../searchindex.js"></script>'
    (tmp_path / "listings").mkdir()
    for name in ("page.html", "search.html", "listings/search.html"):  # of a module that has this name
        (tmp_path / name).write_text(f'<script defer src="_static/scripts/fontawesome.js?x"></script>{scripts}<p></p>')
    light.lighten_pages(tmp_path)
    assert (tmp_path / "page.html").read_text() == (tmp_path / "listings/search.html").read_text() == "<p></p>"
    assert (tmp_path / "search.html").read_text() == f"{scripts}<p></p>"


def test_a_page_tells_where_the_sources_are_or_why_not():
    assert repository.clone("https://example.org/us/course") == "`git clone https://example.org/us/course`"
    assert "repository: url" in repository.clone("")
