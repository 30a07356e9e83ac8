"""What the type checker finds as pyproject.toml sets it up: planted mistakes, also where nothing is annotated."""

import re
import subprocess
import sys
from pathlib import Path

from .files import ROOT

TOOL = Path(sys.executable).parent / "mypy"
PLANTED = {  # a line: what is wrong with it
    "text.uper()": "attr-defined",
    "abs(1, 2)": "call-arg",
    "abs('1')": "arg-type",
    "missing": "name-defined",
    "{'a': 1}.get('b') + 1": "operator",
    "text.upper()  # type: ignore[attr-defined]": "unused-ignore",
    "text.upper()": None,
}


def test_planted_mistakes_are_found(tmp_path):
    planted = tmp_path / "planted.py"
    planted.write_text("text = 'a'\n" + "".join(f"def f{k}(): return {line}\n" for k, line in enumerate(PLANTED)))
    command = [TOOL, "--config-file", ROOT / "pyproject.toml", planted]
    said = subprocess.run(map(str, command), cwd=tmp_path, capture_output=True, text=True).stdout
    found = {int(line): code for line, code in re.findall(r"^planted\.py:(\d+): error: .*\[([a-z-]+)\]$", said, re.M)}
    assert [found.get(line) for line in range(2, 2 + len(PLANTED))] == list(PLANTED.values()), said
