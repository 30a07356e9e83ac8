"""A quiz: its text stands in the page, with a label for each choice; the inputs of the function are data."""

import json
import re

from reference.pages.quiz import Question, Quiz

TEXT = """Return the letters of what is `right`.

p    ranks, at
     least <1>
m    micro-batches

A   It is so.
B   It is not so,
    said nobody.
"""
CODE = Question("share", "share(p, m)", TEXT, "Run `pytest -k share`.", {"cases": [["p = 1", "(1,)"]]})


def shown(question: Question) -> str:
    """The page without its script and style."""
    html = Quiz("a.function", [question], "a quiz")._repr_html_()
    return html[: html.index("<script")]


def test_the_text_is_there_without_any_script():
    html = shown(CODE)
    assert "<p>Return the letters of what is <code>right</code>.</p>" in html
    assert '<p class="item"><b>p</b> <span>ranks, at least &lt;1&gt;</span></p>' in html
    assert '<p class="item"><b>B</b> <span>It is not so, said nobody.</span></p>' in html
    assert "Run <code>pytest -k share</code>." in html and "data-python" in html
    assert "<label" not in html and "<input" not in html and "<textarea" not in html


def test_a_letter_to_choose_is_a_label():
    html = shown(CODE._replace(letters=["A", "B"]))
    assert re.findall(r'<label class="item" data-letter="(.)">', html) == ["A", "B"]
    assert '<p class="item"><b>p</b>' in html


def test_names_of_a_docstring_are_a_list():
    html = shown(CODE._replace(text='Names: "one"   it is one\n       "both"  it is\n               both\n'))
    assert "<p>Names:</p>" in html and "<b>&quot;" not in html
    assert '<b>"both"</b> <span>it is both</span>' in html


def test_the_script_gets_what_it_asks_with():
    question = CODE._replace(letters=["A"], names=["x"], about={"name": "share"})
    html = Quiz("a.function", [question], "a quiz", hint="a.hint")._repr_html_()
    told = json.loads(re.search(r'<script type="application/json">(.*?)</script>', html)[1])
    assert told == {
        "calls": {"grade": "a.function", "hint": "a.hint", "why": ""},
        "questions": {"share": {"given": CODE.given, "about": {"name": "share"}, "letters": ["A"], "names": ["x"]}},
    }


def test_the_section_that_explains_it_is_a_link():
    html = shown(CODE._replace(section=("P & Q", "09_pipelines.html#p--q")))
    assert 'Explained in <a href="09_pipelines.html#p--q">P &amp; Q</a>.' in html
    assert "Explained in" not in shown(CODE)


def test_another_text_is_another_page():
    one, other = Quiz("f", [CODE], "a quiz"), Quiz("f", [CODE._replace(text="Return 1.")], "a quiz")
    assert repr(one) == repr(Quiz("f", [CODE], "a quiz")) != repr(other) and repr(one).startswith("a quiz: share")
