"""The selector: no codec on a fast link, one on a slow link, and never slower than any codec for all."""

import time
from itertools import product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reference.collectives import allreduce
from reference.compression import int8, scaled_sign, threshold, top_k
from reference.compression.reduce import allgather_sum
from reference.compression.select import (
    NONE,
    Candidate,
    CodecChoice,
    Gradient,
    GroupLink,
    Speed,
    agreed,
    choose,
    measure_codec,
    measure_link,
    piece,
)
from reference.compression.step_time import compressed_step
from reference.models import generator
from reference.mpi import compute
from reference.worlds import launch, networks

NS, US = 1e-9, 1e-6
TOP = Candidate("top-k", top_k(0.01), Speed(20 * US, 5 * NS), Speed(5 * US, 0.5 * NS))  # figures of some machine
SIGN = Candidate("sign", scaled_sign(), Speed(10 * US, 1 * NS), Speed(5 * US, 0.5 * NS))
INT8 = Candidate("int8", int8(), Speed(10 * US, 2 * NS), Speed(5 * US, 0.5 * NS))
CANDIDATES = [TOP, SIGN, INT8]
GRADIENTS = [Gradient(40_000, 1e-4), Gradient(10, 1e-5), Gradient(20_000, 2e-4), Gradient(5_000, 3e-4)]


def names(choice):
    return [candidate.name for candidate in choice.candidates]


def test_it_picks_none_on_a_fast_link_and_compresses_on_a_slow_one():
    """At 100 GB/s, 100 MB/s (where 10 elements are not worth a codec's start) and 10 MB/s, for 4 ranks."""
    picks = [choose(GRADIENTS, CANDIDATES, GroupLink(4, 1e-6, beta)) for beta in (1e-11, 1e-8, 1e-7)]
    assert [names(pick) for pick in picks] == [["none"] * 4, ["sign", "none", "sign", "sign"], ["top-k"] * 4]
    assert picks[1].seconds < choose(GRADIENTS, [], GroupLink(4, 1e-6, 1e-8)).seconds / 4


def test_e4_61_how_sparse_a_gradient_is_does_not_tell_whether_to_compress_it():
    """95 % zeros, so "top-k": it makes the step slower on a fast link, or with many ranks."""
    told, gradient = "top-k", Gradient(10**6, 1e-3)
    for P, rate, right in [(8, 10e9, "none"), (8, 0.1e9, "top-k"), (512, 0.1e9, "none")]:
        link = GroupLink(P, 1e-6, 1 / rate)
        seconds = {each.name: compressed_step(0, [piece(gradient, each, link)]).seconds for each in (NONE, TOP)}
        assert names(choose([gradient], [TOP], link)) == [right] == [min(seconds, key=seconds.get)]
        assert told == right or seconds[told] > 2 * seconds[right]


def test_what_would_have_been_hidden_anyway_is_not_compressed():
    """The same link and gradient, after a long backward pass and after a short one."""
    link, candidates = GroupLink(4, 1e-6, 4e-9), [SIGN]
    first = Gradient(20_000, 1e-4)
    assert names(choose([first, Gradient(1, 1e-2)], candidates, link)) == ["none", "none"]
    assert names(choose([first, Gradient(1, 1e-6)], candidates, link)) == ["sign", "none"]


SPEED = st.builds(Speed, st.floats(0, 1e-4), st.floats(0, 1e-8))


@given(
    st.lists(st.builds(Gradient, st.integers(1, 10**5), st.floats(0, 1e-3)), min_size=1, max_size=3),
    st.lists(SPEED, min_size=4, max_size=4),
    st.integers(2, 64),
    st.floats(1e-11, 1e-7),
)
def test_it_is_never_slower_than_one_codec_for_all_and_close_to_the_best_of_all(gradients, speeds, P, beta):
    candidates = [TOP._replace(encode=speeds[0], decode=speeds[1]), SIGN._replace(encode=speeds[2], decode=speeds[3])]
    link, offered = GroupLink(P, 1e-6, beta), [NONE, *candidates]

    def seconds(chosen):
        return compressed_step(0, [piece(gradient, each, link) for gradient, each in zip(gradients, chosen)]).seconds

    found = choose(gradients, candidates, link)
    assert found.seconds == seconds(found.candidates)
    assert found.seconds <= min(seconds([each] * len(gradients)) for each in offered)
    assert found.seconds <= 1.25 * min(map(seconds, product(offered, repeat=len(gradients))))


# On the clock


def run_step(comm, choice):
    """A step of this choice, with what the codecs would take."""
    requests, x = [], [torch.randn(g.d, generator=generator(comm.rank, g.d)) for g in GRADIENTS]
    for g, gradient, each in zip(x, GRADIENTS, choice.candidates):
        for _ in range(20):
            compute(comm, (gradient.backward + each.encode.seconds(gradient.d) * (each.codec is not None)) / 20)
            for request in requests:
                request.Test()
        requests.append(allgather_sum.start(comm, each.codec, g) if each.codec else allreduce.start(comm, g))
    for request, gradient, each in zip(requests, GRADIENTS, choice.candidates):
        request.Wait()
        compute(comm, comm.size * each.decode.seconds(gradient.d) * (each.codec is not None))


@pytest.mark.parametrize("P", [2, 4])
@pytest.mark.parametrize("beta", [1e-11, 1e-9, 1e-7])
def test_the_pick_has_the_shortest_step_on_the_virtual_cluster(P, beta):
    """Measured link, known codecs: what is picked is as quick as predicted, and quicker than any codec for all."""
    network = networks.uniform(1e-6, beta)
    link = launch(measure_link, P, network=network).results[0]
    assert link == pytest.approx((P, 1e-6, beta), rel=1e-6)
    pick = choose(GRADIENTS, CANDIDATES, link)
    others = [CodecChoice((each,) * len(GRADIENTS), 0.0) for each in [NONE, *CANDIDATES]]
    picked, *rest = (launch(run_step, P, choice, network=network).seconds for choice in (pick, *others))
    assert picked == pytest.approx(pick.seconds, rel=0.1)
    assert picked <= min(rest) * 1.02


def test_all_ranks_choose_alike_whatever_they_measured(world):
    """Each rank's codecs have a speed of their own; the slowest counts for all."""

    def program(comm):
        own = TOP._replace(encode=Speed(20 * US, (1 + 3 * comm.rank) * NS))
        link = measure_link(comm, repeat=2)
        found = agreed(comm, [own, SIGN])
        choice = choose(GRADIENTS, found, link)
        return [(each.name, each.encode, each.decode) for each in found], names(choice), link

    results = launch(program, 3, world=world).results
    assert all(result == results[0] for result in results)
    assert results[0][0][0] == ("top-k", Speed(20 * US, 7 * NS), TOP.decode)


def test_a_codec_is_measured():
    """About as long as it takes, which is more for more elements; nothing is said about how long."""
    found = measure_codec(top_k(0.01), sizes=(100, 200_000), repeat=2)
    assert found.name == "top-k 0.01" and min(*found.encode, *found.decode) >= 0 < found.encode.each
    x = torch.randn(400_000)
    start = time.perf_counter()
    found.codec.encode(x)
    assert 0.02 < found.encode.seconds(400_000) / (time.perf_counter() - start) < 50


def test_clear_errors_and_one_rank():
    with pytest.raises(ValueError, match=r"odd has wires of varying size, so their time cannot be predicted"):
        piece(Gradient(10, 0), Candidate("odd", threshold(1.0)), GroupLink(2, 0, 1))
    assert launch(measure_link, 1).results == [GroupLink(1, 0, 0)]
    assert names(choose(GRADIENTS, CANDIDATES, GroupLink(1, 0, 0))) == ["none"] * 4 and choose(
        [], [TOP], GroupLink(2, 0, 1)
    ) == (
        (),
        0,
    )
