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
from accessible import CHANGES  # extensions of Sphinx are no package
from npm import Package, fetched


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
        ("<ul><li>a<ul><li>b</li>\n</ul></li>\n</ul>", "<ul><li>a<ul><li>b</li>\n</ul></li>\n</ul>"),
    ],
)
def test_what_is_wrong_is_put_right_and_nothing_else(before, after):
    assert amended(before) == after == amended(after)


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
