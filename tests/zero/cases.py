"""Traces that hypothesis makes up, and allocators by name, with sizes of a few bytes."""

from hypothesis import strategies as st

from reference.zero.allocator import Event, Heap, Pages
from reference.zero.segments import Caching, Expandable, Sizes

SIZES = Sizes(unit=4, small=16, small_segment=32, large_segment=320, own_segment=160, round_large=32)
KINDS = {
    "first fit": lambda capacity: Heap("first", capacity),
    "best fit": lambda capacity: Heap("best", capacity),
    "caching": lambda capacity: Caching(capacity, SIZES),
    "expandable": lambda capacity: Expandable(capacity, SIZES),
    "pages": lambda capacity: Pages(16, capacity),
}


@st.composite
def traces(draw):
    """Tensors made and freed in any order."""
    trace, alive = [], []
    for i in range(draw(st.integers(1, 40))):
        if alive and draw(st.booleans()):
            trace.append(alive.pop(draw(st.integers(0, len(alive) - 1)))._replace(made=False))
        else:
            alive.append(Event(True, i, draw(st.integers(1, 300)), draw(st.sampled_from(["short", "long"]))))
            trace.append(alive[-1])
    return trace
