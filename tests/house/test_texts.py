"""Licences, and nothing of one machine in any text."""

import re

import yaml

from .files import FILES, PROJECT, ROOT


def test_licences():
    assert "MIT License" in (ROOT / "LICENSE").read_text()
    assert "creativecommons.org/licenses/by/4.0" in (ROOT / "LICENSE-text.md").read_text()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert citation["version"] == PROJECT["project"]["version"]
    assert {"MIT", "CC-BY-4.0"} == set(citation["license"])


# a folder of somebody's machine; written in pieces so that this file does not find itself
MACHINE = re.compile("(?<![\\w.$}])/(" + "|".join(["work", "home", "Users", "root", "opt", "tmp/[a-z]"]) + ")/[\\w.]")


def test_no_text_names_a_path_of_one_machine():
    found = []
    for path in FILES:
        try:
            text = path.read_text()
        except UnicodeDecodeError:
            continue  # a picture
        for number, line in enumerate(text.splitlines(), 1):
            if (match := MACHINE.search(line)) and len(line) < 100_000:
                found.append(
                    f"{path.relative_to(ROOT)}:{number}: {line[max(0, match.start() - 20) : match.end() + 40]}"
                )
    assert not found, "\n".join(found)
