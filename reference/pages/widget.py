"""Something to use in a page: one piece of HTML that fetches nothing, of a style, a script, and the data they show.

The step-through of chapter 1 and the explorer of chapter 9 are made of it. What they have in common is here, too:
colours and controls in widget.css, small helpers and stepping by buttons, keys, slider and swipes in widget.js.
Without JavaScript a reader sees the text that is given for them.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def widget(source: str, name: str, label: str, data: Any, instead: str, python: bool = False) -> str:
    """The HTML of one widget: `data` as JSON, and the style and script that lie beside the module `source`.

    source      __file__ of the module: its .css and .js are put into the page, after those that all share
    name        the widget's class, erc-<name>; its script defines `start(root)`, which gets that element
    label       what it is, for those who do not see it
    instead     HTML for readers without JavaScript
    python      whether its script asks functions of this package (live.py), where the page has a Python
    """
    embedded = json.dumps(data, separators=(",", ":"), ensure_ascii=False).replace("<", "\\u003c")
    return (
        f'<div class="erc-widget erc-{name}" role="group" aria-label="{label}" '
        f'data-lm-suppress-shortcuts="true"{" data-python" * python}>\n'  # JupyterLab then leaves the keys to it
        f"{instead}\n"
        f'<script type="application/json">{embedded}</script>\n</div>\n'
        f"<style>\n{_both(source, '.css')}</style>\n"
        f'<script>\n(() => {{\n"use strict";\n{_both(source, ".js")}\n'
        # several widgets on one page, each with this script, do not disturb: each is started once
        f"for (const root of document.querySelectorAll('.erc-{name}')) {{\n"
        "  if (!root.running) start(Object.assign(root, { running: true }));\n}\n})();\n</script>"
    )


def escaped(text: str) -> str:
    """The text as HTML shows it."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _both(source: str, suffix: str) -> str:
    files = Path(__file__).with_suffix(suffix), Path(source).with_suffix(suffix)
    return "\n".join(file.read_text(encoding="utf-8") for file in files)
