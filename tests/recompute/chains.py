"""Chains to try schedules on: drawn ones, and one that tells persistent schedules from others."""

from hypothesis import strategies as st

from reference.recompute import Chain, LinkCost

small = st.integers(0, 6)


@st.composite
def links(draw):
    """A link of a few bytes and whole seconds, half of them with temporaries."""
    output, internals = draw(small), draw(small)
    peaks = (None, None, None)
    if draw(st.booleans()):
        peaks = output + draw(small), output + internals + draw(small), 6 + draw(small)
    return LinkCost(draw(st.integers(1, 5)), draw(st.integers(1, 5)), output, internals, draw(st.booleans()), *peaks)


def chains(longest: int = 4):
    """Chains of up to so many links."""
    return st.builds(Chain, st.lists(links(), min_size=1, max_size=longest).map(tuple), small)


@st.composite
def plain_chains(draw, longest: int = 3):
    """Chains that `as_graph` takes: no internals, no temporaries, a last output of no bytes."""
    n = draw(st.integers(1, longest))
    outputs = [draw(st.integers(1, 5)) for _ in range(n - 1)] + [0]
    costs = (LinkCost(draw(st.integers(1, 5)), draw(st.integers(1, 5)), output, 0) for output in outputs)
    return Chain(tuple(costs), draw(small))


DROPS_A_CHECKPOINT = Chain(
    (LinkCost(1, 1, 2, 2), LinkCost(5, 1, 3, 1), LinkCost(4, 1, 6, 1), LinkCost(2, 1, 1, 2))
)  # within 17 bytes: 31 s if a[1] may be kept, dropped and computed again, 32 s if not
