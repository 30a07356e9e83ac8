"""The checksum: zlib's number, whichever library finds it."""

import importlib
import sys
import zlib

import numpy as np
import pytest

from reference.tiers import checksum


@pytest.fixture(params=[True, False])
def crc32(request, monkeypatch):
    """With the packages that there are, and without isal."""
    if not request.param:
        monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    yield importlib.reload(checksum).crc32
    monkeypatch.undo()
    importlib.reload(checksum)


@pytest.mark.parametrize("nbytes", [0, 1, 15, 16, 17, 4095, 100_003])
def test_it_is_that_of_zlib(crc32, nbytes):
    data = np.random.default_rng(nbytes).integers(0, 256, nbytes, np.uint8)
    assert crc32(data.data) == crc32(data.tobytes()) == zlib.crc32(data)


def test_without_isal_it_is_zlibs_own(monkeypatch):
    monkeypatch.setitem(sys.modules, "isal.isal_zlib", None)
    assert importlib.reload(checksum)._crc32 is zlib.crc32
    monkeypatch.undo()
    importlib.reload(checksum)
