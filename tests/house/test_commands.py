"""The commands that texts name exist, and CI runs them."""

import re

import yaml

from .files import ROOT


def make_targets() -> set[str]:
    return set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))


def test_readme_commands_exist():
    readme = (
        (ROOT / "README.md").read_text()
        + (ROOT / "CONTRIBUTING.md").read_text()
        + (ROOT / "book/how_to_use.md").read_text()
    )
    commands = re.findall(r"^make ([\w-]+)|[`$] ?make ([\w-]+)", readme, re.MULTILINE)
    named = {first or second for first, second in commands}
    assert {"book", "test"} <= named <= make_targets()


def test_ci_runs_the_commands_of_the_readme():
    ci = (ROOT / ".ci/run").read_text()
    block = re.search(r"## Two commands.*?```sh\n(.*?)```", (ROOT / "README.md").read_text(), re.DOTALL)[1]
    commands = [" ".join(line.split("#")[0].split()) for line in block.splitlines()]
    assert commands == ["make book", "make test"]
    assert all(command in ci for command in commands)
    assert "bash .ci/run" in (ROOT / ".github/workflows/tests.yml").read_text()
    assert "make book" in (ROOT / ".github/workflows/book.yml").read_text()


def test_every_machine_is_played_every_night(ci):
    machines = ci("machines")
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    job = nightly["jobs"]["machine"]
    assert set(job["strategy"]["matrix"]["machine"]) == set(machines.MACHINES | machines.SINGLE)
    assert nightly[True]["schedule"], "YAML reads the key `on` as True"
    assert any("make test-machines" in step.get("run", "") for step in job["steps"])


def test_many_examples_are_tried_every_night():
    nightly = yaml.safe_load((ROOT / ".github/workflows/nightly.yml").read_text())
    assert {"run": "make test-long"} in nightly["jobs"]["properties"]["steps"]


def test_every_file_that_readme_links_to_is_there():
    for page in ("README.md", "CONTRIBUTING.md", "LICENSE-text.md"):
        for link in re.findall(r"\]\(([^)#:]+)\)", (ROOT / page).read_text()):
            assert (ROOT / link).exists(), f"{page} links to {link}"
