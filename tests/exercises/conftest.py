"""Tests of graders say which exercise and chapter they belong to, so that they can be selected by a mark.

Those that import torch are run last: see later.py.
"""

import sys
from pathlib import Path

import pytest

from .later import Later

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest looks at marks
def pytest_collection_modifyitems(items):
    """A test that is given an exercise belongs to its chapter; other modules say `pytestmark` if they are of one."""
    items.sort(key=_imports_torch)
    own = [item for item in items if HERE in item.path.parents]
    given = {item: item.callspec.params["name"] for item in own if "name" in getattr(item, "fixturenames", ())}
    chapters = _chapters() if given else {}
    for item in own:
        if chapter := chapters.get(given.get(item)):
            item.add_marker(pytest.mark.chapter(number=chapter))
            item.add_marker(pytest.mark.exercise(name=given[item]))
        if mark := item.get_closest_marker("chapter"):
            item.user_properties.append(("chapter", mark.kwargs["number"]))  # for the budget report


def _imports_torch(item) -> bool:
    return item.path == HERE / "test_torch.py" or any(isinstance(thing, Later) for thing in vars(item.module).values())


def _chapters() -> dict[str, int]:
    """The chapter of each exercise, by its name; none if a grader cannot be imported, which pytest tells by itself."""
    graders = sys.modules.get(f"{__package__}.test_graders")  # where tests that are given exercises have them from
    return {name: int(chapter.removeprefix("ch")[:2]) for chapter, name, _ in graders.ALL} if graders else {}
