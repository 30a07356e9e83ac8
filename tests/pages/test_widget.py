"""What all widgets share: one piece of HTML that stands for itself."""

import json
import re

import pytest

from reference.pages.widget import escaped, widget


@pytest.fixture
def html(tmp_path):
    (tmp_path / "clock.css").write_text(".erc-clock { color: red; }")
    (tmp_path / "clock.js").write_text("function start(root) {}")
    return widget(str(tmp_path / "clock.py"), "clock", "a clock", {"text": "</script><b>é"}, "<p>12:00</p>")


def test_data_cannot_break_out_of_the_page(html):
    assert html.count("</script>") == 2 and "<b>" not in html
    embedded = re.search(r'<script type="application/json">(.*?)</script>', html)[1]
    assert json.loads(embedded) == {"text": "</script><b>é"}


def test_what_is_shared_stands_before_what_is_not(html):
    parts = [".erc-widget {", ".erc-clock {", "const range =", "function start(root) {}"]
    assert [html.index(part) for part in parts] == sorted(html.index(part) for part in parts)


def test_readers_without_javascript_see_the_text_instead(html):
    assert html.index('aria-label="a clock"') < html.index("<p>12:00</p>") < html.index("</div>")


def test_nothing_is_fetched(html):
    assert not re.search(r"https?:|//\w|\bsrc=|@import|url\(|\bfetch\b|\bimport\b", html.replace("// ", ""))


def test_text_as_html_shows_it():
    assert escaped("F < B & W > 0") == "F &lt; B &amp; W &gt; 0"
