"""Registries: what can be chosen has a record, the record is in its list, and where it is from is told.

A registry stands in a module `catalogue` of the package whose techniques it lists.
"""

import importlib
import inspect
import pkgutil
import re

import pytest

import reference
from reference.registry import Registry

MODULES = [importlib.import_module(found.name) for found in pkgutil.walk_packages(reference.__path__, "reference.")]
CATALOGUES = [
    pytest.param(module, registry, id=registry.kind)
    for module in MODULES
    if module.__name__.endswith(".catalogue")
    for registry in vars(module).values()
    if isinstance(registry, Registry)
]
each = pytest.mark.parametrize("catalogue, registry", CATALOGUES)
ENDINGS = {"all-reduce": "_allreduce_rounds"}  # of the names of makers: other functions make rounds, too
NOT_CHOSEN = {  # functions that make the same without being a technique of their own
    "codec": "what every codec is made with",
    "grid": "qsgd, terngrad, stochastic_rounding and int8 are grids",
    "shorter_float": "fp16 and bf16 are shorter floats",
    "damped": "made of another codec",
    "make": "what makes each of the catalogue, by its name",
    "in_gaps": "what zero bubble's are made with",
    "find_schedule": "a schedule for given costs, of which there are too many for names",
}


def own(catalogue):
    """The modules whose techniques it lists."""
    return [module for module in MODULES if module.__name__.startswith(catalogue.__package__ + ".")]


@each
def test_every_record_is_listed(catalogue, registry):
    kinds, listed = {type(record) for record in registry.values()}, list(map(id, registry.values()))
    for module in own(catalogue):
        for name, value in vars(module).items():
            if type(value) in kinds:
                assert id(value) in listed, f"{module.__name__}.{name} is in no list: add it to {catalogue.__name__}"


@each
def test_whatever_makes_one_has_a_record(catalogue, registry):
    makers = {record.make for record in registry.values()}
    result, called = {make.__annotations__["return"] for make in makers}, ENDINGS.get(registry.kind, "")
    assert all(make.__name__.endswith(called) for make in makers)
    for module in own(catalogue):
        for name, function in inspect.getmembers(module, inspect.isfunction):
            made_here = function.__module__ == module.__name__ and not name.startswith("_") and name.endswith(called)
            if made_here and function.__annotations__.get("return") in result and name not in NOT_CHOSEN:
                assert function in makers, f"{module.__name__}.{name} has no record: write one below it"


@each
def test_the_source_is_told_in_full_in_the_docstring(catalogue, registry):
    for record in registry.values():
        words = inspect.getdoc(inspect.getmodule(record.make))
        for author, year in re.findall(r"(\w+)[^,]*\((\d+)\)", record.source):
            assert author in words and f"({year})" in words, f"{record.name}: {author} ({year})"
        assert record.source == "" or re.search(r"\(\d+\)$", record.source), f"{record.name}: authors (year), ..."


def test_two_of_one_name_and_a_name_that_is_not_there():
    record = next(iter(CATALOGUES[0].values[1].values()))
    with pytest.raises(ValueError, match=f"there is a toy '{record.name}' already: take another name"):
        Registry("toy", [record, record])
    with pytest.raises(ValueError, match=f"there is no toy 'x'; choose from {record.name}"):
        Registry("toy", [record]).canonical_name("x")
    assert Registry("toy", [record]).canonical_name(f" {record.name.upper()}_") == record.name
