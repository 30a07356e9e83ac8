"""What the graders of chapter 12 take for right is what its packages say, or what trying everything finds."""

import itertools

import numpy as np
import pytest

from exercises.graders.ch12_memory_tiers import fill_in, predict, repair, speed_up, write
from exercises.grading.grade import draw
from reference.caching import budget, sharing

from .later import Later
from .test_graders import SEED

pytestmark = pytest.mark.chapter(number=12)
binomial, periodic = Later("reference.recompute.binomial"), Later("reference.recompute.periodic")
compressed, deadlines = Later("reference.caching.compressed"), Later("reference.caching.deadlines")
replay, tier = Later("reference.caching.replay"), Later("reference.tiers.tier")


def arguments(exercise, name):
    """The arguments of all its cases."""
    return [case.arguments[0] for case in draw(exercise, name, SEED)]


def by_replay(layers, kept, needs):
    """The most bytes of a step, by going through it: what each layer keeps, and what comes back for its backward pass.

    layers: how many; kept(i): bytes from the forward pass on; needs(i): bytes that come back before a turn that begins
    with layer i going backward, and {layer: bytes that go when it has gone backward}.
    """
    live = most = sum(map(kept, range(layers)))
    for i in reversed(range(layers)):
        come, go = needs(i)
        live += come
        most = max(most, live)
        live -= go
    assert live == 0
    return most


def test_the_peak_of_a_step():
    for s, b, h, a, L, how, K in arguments(predict.peak_bytes, "peak_bytes"):
        one, core, layer = (part(s, b, h, a) for part in (predict.input_of, predict.core, predict.layer))
        rest = layer - one  # of a layer whose input is there
        if how == "segments":
            found = by_replay(
                L,
                lambda i: one if i % K == 0 else 0,  # noqa: B023
                lambda i: (K * rest + (K - 1) * one if i % K == K - 1 else 0, layer),  # noqa: B023
            )
        elif how == "selective":
            found = by_replay(L, lambda i: layer - core, lambda i: (core, layer))  # noqa: B023
        else:
            found = by_replay(L, lambda i: layer, lambda i: (0, layer))  # noqa: B023
        assert predict.peak(s, b, h, a, L, how, K) == found
    gpt3 = [
        predict.peak(2048, 1, 12288, 96, 96, *how)
        for how in (("everything", 1), ("selective", 1), ("segments", 8), ("segments", 1))
    ]
    assert [each / 1e9 for each in gpt3] == pytest.approx([275.4, 84.2, 23.5, 7.65], rel=1e-3)


def test_the_best_segments():
    for n, c, a in arguments(predict.best_k, "best_k"):
        prices = {k: periodic.periodic_bytes(n, k, c, a) for k in range(1, n + 1) if n % k == 0}
        assert predict.least(n, c, a) == max(k for k in prices if prices[k] == pytest.approx(min(prices.values())))
    assert [predict.least(100, 1, a) for a in (1, 57)] == [10, 1]


def test_what_delays_the_step_less():
    """The numbers of the letters, in milliseconds: a copy there and back, and computing again, where they count."""
    delays = {
        "A": (max(0, 2 * 400e6 / 50e6 - 5), 2 * 400e6 / 3e9),
        "B": (max(0, 2 * 500e6 / 50e6 - 400), 15),
        "C": (2 * 500e6 / 50e6, 15),
        "D": (max(0, 2 * 2 * 64 * 8192**2 / 50e6 - 200), 11),
        "G": (max(0, 2 * 200e6 / 50e6 - 300), 30),
        "H": (2 * 200e6 / 50e6, 2 * 200e6 / 3e9),
    }
    right = predict.keep_move_or_again.checks[0].right
    assert {letter: "move" if move < again else "again" for letter, (move, again) in delays.items()} == {
        letter: name for letter, name in right.items() if name != "keep"
    }


def test_compression_that_is_added_up():
    given = 0, 125e6, 1e9, 50, 2.5e9, 2.5e9, False
    assert predict.speedup(*given) == pytest.approx(1.22, abs=0.005)
    assert predict.printed(*given) == pytest.approx(10) == pytest.approx(compressed.derated(1, 50, 0.8))
    for compute, nbytes, bandwidth, ratio, pack, unpack, overlap in arguments(
        predict.speedup_with_codec, "speedup_with_codec"
    ):
        if not overlap:
            before = compute + nbytes / bandwidth
            right = compressed.speedup(nbytes / bandwidth / before, ratio, predict.codec(nbytes, pack, unpack) / before)
            found = predict.speedup(compute, nbytes, bandwidth, ratio, pack, unpack, overlap)
            assert found == pytest.approx(right)


def test_where_200_trillion_parameters_lie():
    def lies(tier, each):
        return predict.lies_in(tier, 2 * 10**14, each, 0, predict.PRINTED, 0) / 1e12

    assert lies("missing", 16) == pytest.approx(2424.16) and lies("missing", 2) == 0
    assert lies("HBM", 2) == pytest.approx(163.84)
    for _, *given in arguments(predict.bytes_in_tier, "bytes_in_tier"):
        parameters, each, activations, tiers, reserve = given
        rooms = [budget.StorageRoom(name, count * size * (1 - reserve)) for name, count, size in tiers]
        wanted = [budget.Need("activations", activations, 1, 1), budget.Need("state", parameters * each, 1, 1)]
        tiers = [name for name, *_ in tiers]
        found = [predict.lies_in(tier, *given) for tier in [*tiers, "missing"]]
        assert found == pytest.approx(budget.place(wanted, rooms)[1])
        assert sum(predict.lies_in(tier, *given) for tier in [*tiers, "missing"]) == pytest.approx(given[0] * given[1])


def test_what_is_computed_again_of_a_block():
    """With a third of the bytes the products' outputs are kept; norm, softmax and GELU are computed again."""
    kept = fill_in.fewest(fill_in.BLOCK, fill_in.READ, 500)
    assert set(fill_in.READ) - set(kept) == {"norm", "softmax", "gelu"}
    for operators, needed, _ in arguments(fill_in.which_to_recompute, "which_to_recompute"):
        names = list(operators)
        for kept in itertools.combinations(names, len(names) // 2):
            there, price = {"x", *kept}, 0
            again = fill_in.again(operators, needed, kept)
            for name in (name for name in names if name in again):  # in the order of the forward pass
                assert set(operators[name][0]) <= there
                there.add(name)
                price += operators[name][2]
            assert set(needed) <= there and price == fill_in.seconds(operators, needed, kept)


def test_a_step_that_keeps_everything_has_the_gradient_of_its_output():
    case = next(iter(draw(write.checkpointed_step, "checkpointed_step", SEED)))
    layers, x, dy, k, generator = case.arguments[0]
    dx = write.keeps_all(case)[1]
    for place, right in enumerate(dx):
        ends = []
        for step in (1e-6, -1e-6):
            moved = x.copy()
            moved[place] += step
            ends.append(write.keeps_all(case._replace(arguments=((layers, moved, dy, k, generator),)))[0] @ dy)
        assert (ends[0] - ends[1]) / 2e-6 == pytest.approx(right, rel=1e-4, abs=1e-7)


def test_no_other_cuts_have_a_lower_peak():
    for inputs, internals in arguments(write.cut_chain, "cut_chain"):
        n = len(inputs)
        if n > 10:
            continue
        every = ([0, *cuts] for r in range(n) for cuts in itertools.combinations(range(1, n), r))
        least = min(write.peak(cuts, inputs, internals) for cuts in every)
        assert write.peak(write.best_cuts(inputs, internals), inputs, internals) == least
        assert write.peak([0], inputs, internals) == sum(inputs) + sum(internals)


def fewest_fetches(requests, room):
    """By trying every choice of who leaves."""
    states = {frozenset(): 0}
    for tensor in requests:
        found = {}
        for there, count in states.items():
            outs = [there] if tensor in there else [there - {gone} for gone in there] if len(there) == room else [there]
            for left in outs:
                new, price = left | {tensor}, count + (tensor not in there)
                found[new] = min(price, found.get(new, price))
        states = found
    return min(states.values())


def test_no_policy_fetches_less():
    for requests, room in arguments(write.evictions, "evictions"):
        if len(requests) < 100:
            made = write.fetched(requests, write.belady(requests, room), room)
            assert made == fewest_fetches(requests, room) == replay.replay(requests, "Belady", room).read


def ends_in_time(order, transfers, latency, bandwidth):
    now = 0.0
    for i in order:
        now += latency + transfers[i][0] / bandwidth
        if now > transfers[i][1] + 1e-12:
            return False
    return True


def test_transfers_are_refused_if_no_order_is_in_time():
    judged = []
    for given in arguments(repair.prefetch_starts, "prefetch_starts"):
        if len(given[0]) < 7:
            some = any(ends_in_time(order, *given) for order in itertools.permutations(range(len(given[0]))))
            assert some == (repair.backwards(*given) is not None)
            judged.append(some)
            starts = sorted(repair.backwards(*given, refused=False))
            transfers, latency, bandwidth = given
            dues = [deadlines.Due("", *each) for each in transfers]
            right = deadlines.backwards(dues, tier.Tier("link", bandwidth, bandwidth, latency))
            if len({needed for _, needed in transfers}) == len(transfers):
                assert starts == pytest.approx([each.start for each in right])
    assert 2 < sum(judged) < len(judged)


def test_shares_are_max_min():
    for bandwidth, weights, wants in arguments(repair.fair_shares, "fair_shares"):
        found = repair.shares(bandwidth, weights, wants)
        assert sum(found) == pytest.approx(min(bandwidth, sum(wants)))
        if len(wants) < 10:
            claims = [sharing.LinkUser(1, weight, want) for weight, want in zip(weights, wants)]
            assert found == pytest.approx(sharing.fair_shares(claims, [True] * len(wants), bandwidth))
        short = [share / weight for share, weight, want in zip(found, weights, wants) if share < want - 1e-9]
        assert all(share <= want + 1e-9 for share, want in zip(found, wants))
        assert not short or min(short) >= max(map(np.divide, found, weights)) - 1e-9


def test_the_fewest_forward_steps():
    for n, slots in arguments(speed_up.reverse_with_slots, "reverse_with_slots"):
        assert speed_up.fewest(n, slots) == binomial.extra_forwards(n, slots)
        passes = [each for each in binomial.revolve(n, slots) if each.kind == "forward" and each.keep != "all"]
        assert len(passes) == speed_up.fewest(n, slots)
    assert speed_up.fewest(400, 6) == 1670
    lengths = [67, 67, 67, 67, 66, 66]  # six states at equal distances, each the only one of its stretch
    assert sum(lengths[:-1]) + sum(n * (n - 1) // 2 for n in lengths) == 13468
