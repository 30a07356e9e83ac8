"""What axe-core finds wrong with a page, on a phone and on a desktop, in light and in dark (part of check_book.py).

Contrasts take most of its time: of each piece of text axe-core looks for all that is behind it. But the texts of a book
have few looks: a colour, large or small, on the backgrounds of what is around. So each look is judged once in the whole
book, on the first four texts of the first page that has it, on a phone or a desktop, in light or in dark. That misses a
text that lies, by its position, on something that is not around it. Formulas and the words of listings are thinned out
before: they look alike, too, and are most elements of many pages. On one page of each folder all texts are judged.
"""

from __future__ import annotations

import threading

from playwright.sync_api import Page

CONTRAST, TARGETS, SCROLLS = "color-contrast", "target-size", "scrollable-region-focusable"
SCHEMES = "light", "dark"

# Words in listings and in signatures have their colours by their classes, and formulas have that of the text around:
# of those with the same classes around them the first stays as it is. Other words become plain text, other formulas
# a box of the same size.
THIN = """() => {
  const seen = new Set(), around = (each, last) => {
    const classes = [];
    for (let at = each; at && !at.matches(last); at = at.parentElement) classes.push(at.tagName + at.className);
    return classes.join();
  };
  const again = key => seen.has(key) || !seen.add(key);
  for (const word of document.querySelectorAll('.highlight pre span[class], dt.sig :is(span, em)[class]')) {
    if (word.firstElementChild || word.id || word.style.length) continue;
    if (again(around(word, 'pre, dt'))) word.replaceWith(word.textContent);
  }
  const formulas = [...document.querySelectorAll('mjx-container > mjx-math')].filter(each => each.firstElementChild)
    .filter(each => again(around(each.parentElement, 'article')))
    .map(each => [each, each.getBoundingClientRect()]);
  for (const [formula, {width, height}] of formulas) {
    formula.replaceChildren();
    Object.assign(formula.style, {display: 'inline-block', width: `${width}px`, height: `${height}px`});
    for (const spoken of formula.parentElement.querySelectorAll('math')) spoken.textContent = spoken.textContent;
  }
}"""

# The looks of all texts that are shown in some colours, each once; and which four texts have it, for JUDGED.
LOOKS = """scheme => {
  document.documentElement.dataset.theme = scheme;
  const known = new Map([[null, '']]);
  const behind = each => {
    if (!known.has(each)) {
      const {backgroundColor, backgroundImage, opacity, filter} = getComputedStyle(each);
      const clear = backgroundColor === 'rgba(0, 0, 0, 0)' && backgroundImage === 'none' && opacity === '1';
      const own = clear && filter === 'none' ? '' : ` on ${backgroundColor} ${backgroundImage} ${opacity} ${filter}`;
      known.set(each, own + behind(each.parentElement));
    }
    return known.get(each);
  };
  window.looks = new Map();
  for (const each of document.body.querySelectorAll(':not(mjx-container *, svg *, script, style)')) {
    const says = [...each.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
    if (!says && !each.matches('input, select, textarea')) continue;
    if (!each.checkVisibility({visibilityProperty: true})) continue;
    const {color, fontSize, fontWeight, textShadow} = getComputedStyle(each), size = parseFloat(fontSize);
    const large = size >= 24 || (size >= 18.66 && fontWeight >= 700) ? 'large' : 'small';  // as in WCAG
    const look = `${color} ${large} ${textShadow}${behind(each)}`;
    const having = looks.get(look) || looks.set(look, []).get(look);
    if (having.length < 4) having.push(each);
  }
  return [...looks.keys()];
}"""

# What axe-core finds wrong with a page, a line each.
AXE = """async ([context, options]) => {
  const found = await axe.run(context || document, {resultTypes: ['violations'], ...options});
  return found.violations.flatMap(each =>
    each.nodes.map(node => `${each.id}: ${node.target.join(' ')}: ${node.html.slice(0, 90)}`));
}"""

# The same of the contrasts of texts that have some of the looks.
JUDGED = f"""async wanted => {{
  const texts = wanted.flatMap(look => looks.get(look));
  for (const each of texts) each.dataset.judged = '';
  const context = {{include: ['[data-judged]'], exclude: ['[data-judged] > :not([data-judged])']}};
  const found = await ({AXE})([context, {{runOnly: ['{CONTRAST}']}}]);
  for (const each of texts) delete each.dataset.judged;
  return found;
}}"""


class Looks:
    """The looks that were judged, of all pages."""

    def __init__(self) -> None:
        self.judged, self.one = set[str](), threading.Lock()

    def new(self, looks: list[str]) -> list[str]:
        """Return those that nobody has judged, which whoever asks does now."""
        with self.one:
            found = [look for look in looks if look not in self.judged]
            self.judged.update(found)
            return found


def violations(page: Page, looks: Looks, phone: bool, thorough: bool) -> list[str]:
    """What is wrong with a page, into which axe-core has been loaded, at its width: of a phone, or of a desktop.

    thorough: the contrasts of all texts are asked for, and the sizes of targets on a desktop, too.
    """
    page.evaluate(THIN)
    wrong = page.evaluate(AXE, [None, rules_of(phone, thorough)])
    for scheme in SCHEMES:
        shown = page.evaluate(LOOKS, scheme)
        if thorough:
            found = page.evaluate(AXE, [None, {"runOnly": [CONTRAST]}])
        else:
            new = looks.new(shown)
            found = page.evaluate(JUDGED, new) if new else []
        wrong += [f"{scheme}, {each}" for each in found]
    return wrong


def rules_of(phone: bool, thorough: bool) -> dict:
    """All rules but that of contrasts, on a desktop; those that another width can break, on a phone."""
    if phone:
        return {"runOnly": [SCROLLS, TARGETS]}  # on a phone targets are closer to each other than on a desktop
    left_out = [CONTRAST] if thorough else [CONTRAST, TARGETS]
    return {"rules": {rule: {"enabled": False} for rule in left_out}}
