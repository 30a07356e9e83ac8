"""A Sphinx extension: pages tell where the sources are, which `repository: url` in _config.yml says once.

{{ clone }} in a page is the command that fetches them, or a note that this copy of the book was built without one.
"""

from __future__ import annotations

UNKNOWN = "(this copy of the book was built without its address: `repository: url` in `book/_config.yml`)"


def clone(url: str) -> str:
    """What a page says, in Markdown."""
    return f"`git clone {url}`" if url else UNKNOWN


def tell(app, config) -> None:
    """Set the substitution, and the button in the head of each page."""
    url = config.html_theme_options.get("repository_url", "")
    config.myst_substitutions = {**config.myst_substitutions, "clone": clone(url)}
    config.html_theme_options["use_repository_button"] = bool(url)


def setup(app) -> dict:
    """Register the extension; before MyST reads its settings."""
    app.connect("config-inited", tell, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
