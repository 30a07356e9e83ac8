"""Advice changes no bytes, and is given for what is large, within the tensor's own pages."""

import torch

from reference.tiers import huge_pages
from reference.tiers.blocks import aligned


def test_a_large_tensor_begins_on_a_page_and_advice_is_asked_for_inside_it(monkeypatch):
    asked = []
    monkeypatch.setattr(huge_pages, "MADVISE", lambda *how: asked.append(tuple(getattr(x, "value", x) for x in how)))
    small, large = (huge_pages.empty_on_a_page((n, 2), torch.float64) for n in (1000, 2**18))
    assert small.shape == (1000, 2) and large.shape == (2**18, 2) and large.is_contiguous()
    assert large.data_ptr() % 4096 == 0 and large.untyped_storage().nbytes() == large.nbytes + 4096
    if huge_pages.HUGEPAGE is not None:
        assert asked == [(large.data_ptr(), large.nbytes, huge_pages.HUGEPAGE)]


def test_buffers_of_whole_large_pages_begin_on_one():
    for nbytes in (100, 2**21 - 1, 2**21, 2**22 + 5):
        memory = aligned(nbytes)
        assert len(memory) == nbytes and memory.ctypes.data % (2**21 if nbytes >= 2**21 - 1 else 4096) == 0
        assert not memory.any()


def test_the_real_call():
    assert huge_pages.empty_on_a_page((2**19,), torch.float32).fill_(3.0).unique().tolist() == [3.0]
