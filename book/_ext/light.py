"""A Sphinx extension: pages fetch what they use, and not whole libraries.

- Of Font Awesome the theme shows a dozen icons. Those of its script (1.5 MB) become drawings in the page; of its font
  stay the letters that style sheets name.
- Rules of style sheets for classes that occur in no page and no script are left out: most of Bootstrap's.
- The search index and its programs are for the search page: the field in the other pages only leads there.
- Of MathJax come the reader of AMS-TeX, the writer of HTML and MathML for screen readers, and not its menu.

.ci/check_book.py holds every page to what it may weigh.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from html import escape
from pathlib import Path

import tinycss2
from fontTools import subset, ttLib

MATHJAX = {
    "loader": {"load": ["core", "input/tex-base", "[tex]/ams", "output/chtml", "a11y/assistive-mml"]},
    "tex": {"packages": {"[+]": ["ams"]}},
}
ICONS = "_static/scripts/fontawesome.js"
ICON = re.compile(r'<i class="(fa-(?:solid|brands|regular) fa-([a-z-]+)[^"]*)"([^>]*)></i>')
SHAPE = r'["\s,{{]{name}"?\s*:\s*\[(\d+),\s*(\d+),\s*\[[^\]]*\],\s*"[0-9a-f]+",\s*"([^"]+)"\]'
SEARCH = ("searchtools.js", "language_data.js", "searchindex.js")  # what only the search page needs
FONTS = "_static/vendor/fontawesome/webfonts"
LETTER = re.compile(r"\\([ef][0-9a-f]{3})\b|([\ue000-\uf8ff])")  # an icon of the font, as style sheets name it
CLASS = re.compile(r"\.(-?[A-Za-z_][\w-]*)")


def choose_mathjax(app, config) -> None:
    """Let MathJax load the parts that are named, each from its own file."""
    config.mathjax_path = "mathjax/startup.js"
    config.mathjax3_config = (config.mathjax3_config or {}) | MATHJAX


def lighten(app, error) -> None:
    """Rewrite pages, style sheets and fonts when all are there."""
    if error or app.builder.format != "html":
        return
    out = Path(app.outdir)
    lighten_pages(out)
    words = known_words(out)
    for sheet in out.glob("_static/**/*.css"):
        sheet.write_text(without_unused(sheet.read_text(), words))
    found = [each for sheet in out.glob("_static/**/*.css") for each in LETTER.findall(sheet.read_text())]
    for font in (out / FONTS).glob("*.ttf"):
        lighten_font(font, {int(code, 16) if code else ord(letter) for code, letter in found})


def lighten_pages(out: Path) -> None:
    """Draw the icons, and leave the search to the search page. ValueError: Font Awesome has no such icon."""
    shapes: dict[str, str] = {}
    library = (out / ICONS).read_text()
    for page in out.rglob("*.html"):
        unused = ("scripts/fontawesome.js", *(SEARCH if page != out / "search.html" else ()))
        scripts = "|".join(map(re.escape, unused))
        text = page.read_text()
        lighter = ICON.sub(lambda found: drawing(found, library, shapes), text)
        lighter = re.sub(rf'\s*<script[^>]*src="[^"]*(?:{scripts})[^"]*">\s*</script>', "", lighter)
        if lighter != text:
            page.write_text(lighter)


def drawing(found: re.Match, library: str, shapes: dict[str, str]) -> str:
    """The icon as the script would have put it into the page; `shapes` keeps what has been found."""
    classes, name, rest = found.groups()
    if name not in shapes:
        shape = re.search(SHAPE.format(name=re.escape(name)), library)
        if shape is None:
            raise ValueError(f"{found[0]}: Font Awesome's script in the theme has no icon {name!r}")
        width, height, path = shape.groups()
        shapes[name] = f'viewBox="0 0 {width} {height}"><path fill="currentColor" d="{path}"></path></svg>'
    label = "" if "aria-" in rest else ' aria-hidden="true"'
    return f'<svg class="svg-inline--fa {escape(classes)}"{rest}{label} {shapes[name]}'


def known_words(out: Path) -> set[str]:
    """What may be the name of a class: every word in a page's class attributes, and every word of a script."""
    found: set[str] = set()
    for page in out.rglob("*.html"):
        text = page.read_text()
        for classes in re.findall(r'class="([^"]*)"', text):
            found.update(classes.split())
        for script in re.findall(r"<script[^>]*>(.*?)</script>", text, re.DOTALL):
            found.update(re.findall(r"[\w-]+", script))
    for script in out.glob("_static/**/*.js"):
        if script.name != Path(ICONS).name and "mathjax" not in script.parts:
            found.update(re.findall(r"[\w-]+", script.read_text()))
    return found


def without_unused(sheet: str, words: set[str]) -> str:
    """The style sheet without rules, selectors and empty groups that no page can need."""
    rules = tinycss2.parse_stylesheet(sheet, skip_comments=True, skip_whitespace=True)
    return "".join(kept(rules, words))


def kept(rules: Iterable, words: set[str]) -> Iterable[str]:
    """The rules that are needed, as text."""
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = tinycss2.serialize(rule.prelude)
            if not re.search(r"\([^)]*,", selectors):  # :is(.a, .b) may match one of them
                each = selectors.split(",")
                selectors = ",".join(one for one in each if words.issuperset(CLASS.findall(one)))
            if selectors:
                yield f"{selectors}{{{tinycss2.serialize(rule.content)}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in ("media", "supports", "layer") and rule.content:
            inside = tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True)
            if text := "".join(kept(inside, words)):
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{text}}}"
        elif rule.type == "at-rule":
            yield rule.serialize()


def lighten_font(font: Path, letters: set[int]) -> None:
    """Keep some letters only, in both formats: browsers take the first, which may be compressed as WOFF, too."""
    options = subset.Options(flavor="woff", notdef_outline=True)
    small = subset.Subsetter(options)
    small.populate(unicodes=letters)
    face = ttLib.TTFont(font)
    small.subset(face)
    face.flavor = "woff"
    face.save(font.with_suffix(".woff2"))
    font.unlink()


def setup(app) -> dict:
    """Register the extension."""
    app.connect("config-inited", choose_mathjax, priority=900)
    app.connect("build-finished", lighten)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
