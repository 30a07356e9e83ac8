"""The tables that the book makes of registries: all records, and what each says."""

import pytest

from reference.compression import CODECS
from reference.pipeline.schedules import SCHEDULES


@pytest.fixture
def registries(monkeypatch):
    """The module book/_ext/registries.py."""
    import importlib

    from .files import ROOT

    monkeypatch.syspath_prepend(ROOT / "book/_ext")
    return importlib.import_module("registries")


def test_a_row_for_each_record(registries):
    assert registries.registry("reference.compression.catalogue.CODECS") is CODECS
    head, rule, *rows = registries.table(CODECS.values(), ["bytes: wire", "unbiased: codec.unbiased", "from: source"])
    assert head == "| name | bytes | unbiased | from |" and rule == "| --- | --- | --- | --- |"
    assert len(rows) == len(CODECS)
    top_k = "| {py:func}`top-k <reference.compression.sparse.top_k>` | 4 k + ceil(k b / 8) | no | "
    assert rows[list(CODECS).index("top-k")].startswith(top_k)
    assert all(row.count(" | ") == 3 for row in rows)


def test_forms_and_names_elsewhere_are_written_out(registries):
    columns = ["idle: bubble", "kept: peaks", "elsewhere: elsewhere"]
    rows = dict(zip(SCHEDULES, registries.table(SCHEDULES.values(), columns)[2:], strict=True))
    assert rows["naive"].endswith("| (p - 1) m (F + B) | 1 | – |")
    assert rows["ZB-V"].endswith(
        " | (p - 1) F / 2 for m >= p, F = I = W; by span 0 for m >= 2p, F = I = W | p for m >= p "
        "| PyTorch: `ScheduleZBVZeroBubble`, zero-bubble: `--zero-bubble-v-schedule` |"
    )


def test_a_column_that_no_record_has_is_an_error(registries):
    with pytest.raises(AttributeError, match="colour"):
        registries.table(CODECS.values(), ["of which colour: colour"])
