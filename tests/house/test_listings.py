"""Which listings the browser check opens: the extremes of each frame, and whatever differs from the others."""

from pathlib import Path

import pytest

PAGE = '<head><script src="../a.js"></script></head><h1>Source code for {0}</h1><pre>{1}</pre>{2}'


@pytest.fixture
def unopened(ci, tmp_path):
    """The names of the listings that are not opened, of a book with these."""

    def found(**pages: str) -> set[str]:
        (tmp_path / "_modules").mkdir()
        for name, html in pages.items():
            (tmp_path / f"_modules/{name}.html").write_text(html)
        names = [f"_modules/{name}.html" for name in pages]
        return {Path(name).stem for name in ci("listings").unopened(tmp_path, names)}

    return found


def test_of_listings_that_are_alike_the_longest_title_and_the_largest_file_are_opened(unopened):
    pages = {name: PAGE.format(name, f"<span>{name * 2}</span>", "") for name in "abcd"}
    pages |= {"e": PAGE.format("a.long.name", "<span></span>", ""), "f": PAGE.format("f", "<span>long</span>" * 9, "")}
    assert unopened(**pages) == set("abcd")


def test_a_listing_with_another_script_address_or_element_is_opened(unopened):
    like = {name: PAGE.format(name, "<span>x</span>" * (1 + (name == "a")), "") for name in "abcd"}
    other = {
        "script": PAGE.format("s", "<span></span>", "<script>1</script>"),
        "address": PAGE.format("t", "<span></span>", "").replace("../a.js", "a.js"),
        "element": PAGE.format("u", "<img>", ""),
    }
    assert unopened(**like, **other) == set("bcd")


def test_what_is_not_opened_tells_its_links_and_places(ci):
    html = '<a class="x" href="../b.html#c&amp;d">b</a><div id="e"></div>'
    told = ci("listings").told_by_file(html, "http://host/_modules/a.html")
    assert told["links"] == ["http://host/b.html#c&d"] and told["ids"] == ["e"]
