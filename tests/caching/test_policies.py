"""Policies against libCacheSim's hits, against ARC as printed in the paper, and against Belady's bound."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.caching import traces
from reference.caching.optimum import fewest_bytes
from reference.caching.policies import ARC, LFU, LRU, LRUK, POLICIES, Belady, Blend, Frequent, next_uses
from reference.caching.replay import replay

from . import libcachesim_hits

RECORD = json.loads(libcachesim_hits.RECORD.read_text())
OURS = {
    "LRU": lambda keys, capacity: LRU(),
    "LFU": lambda keys, capacity: LFU(),
    "LRUK": lambda keys, capacity: LRUK(2, retained=0),  # libCacheSim forgets the past of a key that leaves
    "ARC": lambda keys, capacity: ARC(capacity),
    "Belady": lambda keys, capacity: Belady(keys),
}
TRACES = libcachesim_hits.traces()
KEYS = st.lists(st.integers(0, 7), min_size=1, max_size=40)


@pytest.mark.parametrize("trace", TRACES)
@pytest.mark.parametrize("policy", OURS)
def test_the_hits_are_those_of_libcachesim(trace, policy):
    keys = TRACES[trace]
    for capacity in libcachesim_hits.CAPACITIES:
        hits = replay(keys, OURS[policy](keys, capacity), capacity).hits
        right = f"{int(RECORD[f'{trace}, {capacity}, {policy}'], 16):0{len(keys)}b}"
        assert "".join(str(int(hit)) for hit in hits) == right


def arc_of_the_paper(keys, c):
    """ARC(c) of Megiddo and Modha, figure 4, with lists whose first element is the least recent. Returns the hits."""
    T1, T2, B1, B2, p, hits = [], [], [], [], 0.0, []

    def replace(x):
        if T1 and (len(T1) > p or (x in B2 and len(T1) == p)):
            B1.append(T1.pop(0))
        else:
            B2.append(T2.pop(0))

    for x in keys:
        hits.append(x in T1 or x in T2)
        if hits[-1]:  # case I
            (T1 if x in T1 else T2).remove(x)
            T2.append(x)
        elif x in B1:  # case II
            p = min(c, p + max(1.0, len(B2) / len(B1)))
            replace(x)
            B1.remove(x)
            T2.append(x)
        elif x in B2:  # case III
            p = max(0.0, p - max(1.0, len(B1) / len(B2)))
            replace(x)
            B2.remove(x)
            T2.append(x)
        else:  # case IV
            if len(T1) + len(B1) == c:
                if len(T1) < c:
                    B1.pop(0)
                    replace(x)
                else:
                    T1.pop(0)
            elif len(T1) + len(T2) + len(B1) + len(B2) >= c:
                if len(T1) + len(T2) + len(B1) + len(B2) == 2 * c:
                    B2.pop(0)
                replace(x)
            T1.append(x)
    return tuple(hits)


@pytest.mark.parametrize("trace", TRACES)
def test_arc_is_the_paper_s(trace):
    for capacity in (5, 20):
        assert replay(TRACES[trace], ARC(capacity), capacity).hits == arc_of_the_paper(TRACES[trace], capacity)


@given(st.lists(st.integers(0, 12), min_size=1, max_size=200), st.integers(1, 6))
def test_arc_is_the_paper_s_on_any_trace(keys, capacity):
    assert replay(keys, ARC(capacity), capacity).hits == arc_of_the_paper(keys, capacity)


@given(KEYS, st.integers(1, 5))
def test_nobody_beats_belady_and_belady_reads_the_fewest_there_can_be(keys, capacity):
    best = replay(keys, "Belady", capacity).read
    assert best == fewest_bytes(keys, capacity)
    assert all(replay(keys, name, capacity).read >= best for name in POLICIES)


@given(KEYS, st.integers(1, 5))
def test_who_may_refuse_has_a_bound_of_its_own(keys, capacity):
    best = replay(keys, Belady(keys, bypass=True), capacity).read
    assert best == fewest_bytes(keys, capacity, bypass=True) <= replay(keys, "Belady", capacity).read
    counts = {key: keys.count(key) for key in keys}
    assert all(replay(keys, Frequent(counts, theta), capacity).read >= best for theta in (0, 2, 5))


@given(st.lists(st.sampled_from("abcde"), min_size=1, max_size=14), st.lists(st.integers(1, 4), min_size=5, max_size=5))
def test_with_sizes_that_differ_nobody_beats_the_search(keys, bytes_of_each):
    sizes = dict(zip("abcde", bytes_of_each))
    best = fewest_bytes(keys, 5, sizes)
    assert all(replay(keys, name, 5, sizes).read >= best for name in POLICIES)


def test_with_sizes_that_differ_belady_is_not_the_best():
    sizes = {"A": 4, "x": 2, "y": 2, "z": 1}
    keys = list("xyzxyAxyzA")
    assert replay(keys, "Belady", 5, sizes).read > fewest_bytes(keys, 5, sizes)


def test_lru_k_evicts_the_largest_backward_k_distance():
    keys = list("aabbcad") + ["e"]  # c once; of a, b the second last access is 1 and 2
    policy = LRUK(2)
    played = replay(keys, policy, 3)
    assert played.hits[:7] == (False, True, False, True, False, True, False)
    assert set(policy._ranks) == {"a", "b", "e"}  # d, used once, left for e; by LRU it would have been b


def test_lru_k_remembers_who_left():
    keys = ["a", "b", "c", "a", "d", "b"]
    remembers, forgets = LRUK(2), LRUK(2, retained=0)
    for policy in (remembers, forgets):
        replay(keys, policy, 2)
    assert remembers._ranks["b"][0] == 1 and forgets._ranks["b"][0] == -float("inf")


def test_ranks_are_found_again_after_many_hits():
    keys = [0, 1] * 500 + [2, 3]
    policy = LRU()
    assert replay(keys, policy, 2).evictions == 2 and len(policy._heap) < 200


def test_next_uses():
    assert next_uses("abcab") == [3, 4, float("inf"), float("inf"), float("inf")]


def test_the_order_of_a_frequent_threshold():
    keys = list("aaabbc")
    pinned = replay(keys * 2, Frequent({"a": 3, "b": 2, "c": 1}, 1), 2)
    assert pinned.read == 1 + 1 + 2 and pinned.evictions == 0  # a and b once, c each time


# E1-25 ----------------------------------------------------------------------------------------------------------------


def test_e1_25_the_blend_is_not_lru_k():
    blend = Blend(a=1.0, b=1.0)
    blend.insert("x", 1, now=7)
    with pytest.raises(ZeroDivisionError):
        blend.score("x", 7)
    # a was used ten times, long ago; b twice, just now. LRU-2 lets a go, the blend keeps it whatever its age
    keys = ["a"] * 10 + ["b", "b"] * 5 + [f"scan {i}" for i in range(50)] + ["b", "b", "c"]
    kept = {}
    for name, policy in (("blend", Blend(1.0, 1.0)), ("LRU-2", LRUK(2))):
        replay([*keys, "d"], policy, 3)
        kept[name] = "a" in (policy.last if name == "blend" else policy._ranks)
    assert kept["blend"]


@pytest.mark.parametrize(("trace", "best"), [("optimizer after", 1), ("optimizer inside", 1000), ("experts", 10)])
def test_e1_25_each_trace_has_another_best_alpha(trace, best):
    scan = [*range(100), *reversed(range(100))]
    keys, room = {
        "optimizer after": ([*scan, *range(100)] * 3, 40),
        "optimizer inside": (scan * 3, 40),
        "experts": (traces.expert_calls(), 16),
    }[trace]
    hits = {alpha: replay(keys, Blend(alpha, 1.0), room).hit_rate for alpha in (1, 10, 100, 1000)}
    assert max(hits, key=hits.get) == best
    if trace != "experts":
        assert hits[1] == replay(keys, "LFU", room).hit_rate


def test_experts_no_policy_that_looks_back_has_the_hits_of_a_fixed_set_on_average():
    keys = traces.expert_calls()
    for room in (4, 8, 16, 24):
        assert all(replay(keys, policy, room).hit_rate < room / 32 for policy in POLICIES if policy != "Belady")
