"""The exact search against all orders of evictions, tried one by one."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.caching.optimum import fewest_bytes
from tests.examples import examples


def all_choices(keys, capacity, sizes, inside=frozenset(), bypass=False):
    """The fewest bytes over every set that could be held after each access."""
    if not keys:
        return 0
    key, rest = keys[0], keys[1:]
    if key in inside:
        return all_choices(rest, capacity, sizes, inside, bypass)
    options = []
    for chosen in range(2 ** len(inside)):
        kept = frozenset(one for i, one in enumerate(sorted(inside)) if chosen >> i & 1)
        if sum(sizes[one] for one in kept) + sizes[key] <= capacity:
            options.append(kept | {key})
        if bypass:
            options.append(kept)
    return sizes[key] + min(all_choices(rest, capacity, sizes, option, bypass) for option in set(options))


@examples(10)
@given(
    st.lists(st.sampled_from("abcd"), min_size=1, max_size=7),
    st.lists(st.integers(1, 3), min_size=4, max_size=4),
    st.booleans(),
)
def test_the_search_is_exact(keys, sizes, bypass):
    sizes = dict(zip("abcd", sizes))
    assert fewest_bytes(keys, 4, sizes, bypass) == all_choices(keys, 4, sizes, bypass=bypass)


def test_what_cannot_fit_is_refused():
    with pytest.raises(ValueError, match="'b' is larger than the cache of 4"):
        fewest_bytes("ab", 4, {"a": 1, "b": 5})
