"""A Sphinx extension: keep out of the pages what would fetch something from another host.

Jupyter Book always loads sphinx-thebe (a "run this page on a server" button that we do not have). It writes the address
of a script on another host into every page, twice, which browsers report as an error. So its handlers are taken out.
"""

from __future__ import annotations


def remove_thebe(app, config) -> None:
    """Disconnect every handler of sphinx_thebe."""
    for listeners in app.events.listeners.values():
        listeners[:] = [item for item in listeners if not item.handler.__module__.startswith("sphinx_thebe")]
    app.registry.css_files[:] = [item for item in app.registry.css_files if "thebe" not in item[0]]


def setup(app) -> dict:
    """Register the extension."""
    app.connect("config-inited", remove_thebe)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
