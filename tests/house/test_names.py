"""Names and versions of what is needed: the same for pip and for conda, and all of them pinned."""

import re

import yaml

from .files import PROJECT, ROOT

CONDA_NAME = {"torch": "pytorch-cpu", "matplotlib": "matplotlib-base"}  # where conda's differs from PyPI's
CONDA_ONLY = {"python", "pip", "jupyterlab"}  # jupyterlab is Binder's


def name_of(requirement: str) -> str:
    """Return the normalised name in a requirement of pip or conda."""
    return re.match(r"[A-Za-z0-9._-]+", requirement)[0].lower().replace("_", "-")


def requirements() -> list[str]:
    """Return every requirement of pyproject.toml, of the package and of its extras."""
    extras = PROJECT["project"]["optional-dependencies"].values()
    return PROJECT["project"]["dependencies"] + [requirement for extra in extras for requirement in extra]


def project_names() -> set[str]:
    return {name_of(requirement) for requirement in requirements()}


def test_environment_has_the_names_of_pyproject():
    dependencies = yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"]
    conda = [d for d in dependencies if isinstance(d, str)]
    (pip,) = (d["pip"] for d in dependencies if isinstance(d, dict))
    names = {name_of(d) for d in conda} | {name_of(d) for d in pip if not d.startswith("-e")}
    assert names - CONDA_ONLY == {CONDA_NAME.get(name, name) for name in project_names()}
    assert "-e ." in pip


def test_environment_has_the_bounds_of_pyproject():
    bound = {}
    for requirement in requirements():
        name = name_of(requirement)
        bound[CONDA_NAME.get(name, name)] = requirement[len(name) :].strip()
    for line in (
        d for d in yaml.safe_load((ROOT / "environment.yml").read_text())["dependencies"] if isinstance(d, str)
    ):
        if name_of(line) not in CONDA_ONLY:
            assert line[len(name_of(line)) :].strip() == bound[name_of(line)], line


def test_constraints_pin_every_name_exactly():
    lines = [line for line in (ROOT / "constraints.txt").read_text().splitlines() if line and not line.startswith("#")]
    pinned = {name_of(line): line for line in lines}
    assert all(re.fullmatch(r"[\w.-]+==[\w.]+( ?;.*)?", line) for line in lines), "name==version, no address, no path"
    assert project_names() <= set(pinned)
    assert len(pinned) == len(lines)
