"""Tests of graders say which exercise and chapter they belong to, so that they can be selected by a mark."""

import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


@pytest.hookimpl(tryfirst=True)  # before pytest looks at marks
def pytest_collection_modifyitems(items):
    """A test that is given an exercise belongs to its chapter; other modules say `pytestmark` if they are of one."""
    own = [item for item in items if HERE in item.path.parents]
    given = {item: item.callspec.params["name"] for item in own if "name" in getattr(item, "fixturenames", ())}
    chapters = _chapters() if given else {}
    for item in own:
        if chapter := chapters.get(given.get(item)):
            item.add_marker(pytest.mark.chapter(number=chapter))
            item.add_marker(pytest.mark.exercise(name=given[item]))
        if mark := item.get_closest_marker("chapter"):
            item.user_properties.append(("chapter", mark.kwargs["number"]))  # for the budget report


def _chapters() -> dict[str, int]:
    """The chapter of each exercise, by its name; none if a grader cannot be imported, which pytest tells by itself."""
    graders = sys.modules.get(f"{__package__}.test_graders")  # where tests that are given exercises have them from
    return {name: int(chapter.removeprefix("ch")[:2]) for chapter, name, _ in graders.ALL} if graders else {}
