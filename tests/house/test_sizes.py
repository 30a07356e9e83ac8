"""The rule about sizes, and its exceptions, on planted files."""

import json

import pytest


@pytest.fixture
def house(tmp_path):
    """A project with one package."""
    for folder in ("reference/zero", "exercises/grading"):
        (tmp_path / folder).mkdir(parents=True)
    return tmp_path


def function(lines, indent=0):
    """The source of a function of so many lines."""
    return "\n".join(" " * indent + line for line in ["def f():", *["    x = 1"] * (lines - 1)]) + "\n"


def test_a_module_has_at_most_300_lines(house, ci):
    faults = ci("sizes").faults
    path = house / "reference/zero/stage.py"
    path.write_text("x = 1\n" * 300)
    assert faults(house, {}) == []
    path.write_text("x = 1\n" * 301)
    told = "reference/zero/stage.py has 301 lines, and a module has at most 300: divide it"
    assert faults(house, {}) == [told] and faults(house, {"reference/zero/stage.py": "a table"}) == []


@pytest.mark.parametrize("folder", ["reference/zero", "exercises/grading"])
@pytest.mark.parametrize(
    "source, name",
    [
        (function(61), "f"),
        ("@cache\n" + function(60), "f"),
        ("class C:\n" + function(61, indent=4), "C.f"),
        ("if x:\n" + function(61, indent=4), "f"),
        ("async " + function(61), "f"),
        ("def g():\n    def f():\n" + "        x = 1\n" * 60, "g.f"),
    ],
)
def test_a_function_has_at_most_60_lines(house, ci, folder, source, name):
    (house / folder / "stage.py").write_text(source)
    told = f"{folder}/stage.py:{name} has 61 lines, and a function has at most 60: divide it"
    assert told in ci("sizes").faults(house, {})


def test_a_function_of_60_lines_is_fine(house, ci):
    (house / "reference/zero/stage.py").write_text(function(60))
    assert ci("sizes").faults(house, {}) == []


def test_an_exception_goes_when_it_is_not_needed(house, ci):
    told = "reference/zero/gone.py is short enough: take it out of EXCEPTIONS in .ci/sizes.py"
    assert ci("sizes").faults(house, {"reference/zero/gone.py": "was long"}) == [told]


def notebook(house, name, words=0, cells=0, output=0):
    """A notebook with so many words, code cells, and bytes of output."""
    path = house / "chapters" / f"{name}.ipynb"
    path.parent.mkdir(exist_ok=True)
    code = [{"cell_type": "code", "source": ["x = 1"], "outputs": ["x" * output]}] * cells
    text = {"cell_type": "markdown", "source": ["word " * (words // 2), "\nword" * (words - words // 2)]}
    path.write_text(json.dumps({"cells": [text, *code]}))


@pytest.mark.parametrize(
    "name, size, told",
    [
        ("10_zero", {"words": 4000, "cells": 25}, ""),
        ("10_zero", {"words": 4001}, "4,001 words of 4,000"),
        ("10_zero", {"words": 9, "cells": 26}, "26 code cells of 25"),
        ("10_zero", {"cells": 1, "output": 300_000}, "bytes of 300,000"),
        ("10_zero_offload", {"words": 3000, "cells": 16}, ""),
        ("10_zero_offload", {"words": 3001, "cells": 17}, "3,001 words of 3,000, 17 code cells of 16"),
        ("10_zeros", {"words": 3001, "cells": 17}, ""),  # another core page of the chapter
    ],
)
def test_a_page_can_be_read_in_one_sitting(house, ci, name, size, told):
    notebook(house, "10_zero")
    notebook(house, name, **size)
    faults = ci("sizes").faults(house, {})
    assert len(faults) == bool(told) and told in "".join(faults)


def test_every_exception_has_a_reason(ci):
    assert all(ci("sizes").EXCEPTIONS.values())


def test_the_rules_hold(ci):
    assert ci("rules").faults() == []


@pytest.mark.parametrize(
    "lines, tags, told",
    [
        (30, [], []),
        (31, [], ["31 lines, and a code cell that is not folded has at most 30: divide it"]),
        (31, ["wrap-output"], ["31 lines, and a code cell that is not folded has at most 30: divide it"]),
        (31, ["hide-input"], []),
    ],
)
def test_a_code_cell_of_over_30_lines_is_folded(house, ci, lines, tags, told):
    code = {"cell_type": "code", "source": ["x = 1\n"] * lines, "metadata": {"tags": tags}}
    (house / "chapters").mkdir()
    (house / "chapters/primer.ipynb").write_text(json.dumps({"cells": [code]}))
    assert ci("sizes").faults(house, {}) == [f"chapters/primer.ipynb:0 has {each}" for each in told]
