"""Compression that adapts: as large a share as hides, errors that outlive a codec, a threshold that follows."""

import math

import pytest
import torch

from reference.compression import int8, top_k
from reference.compression.adaptive import Adaptive, FollowingThreshold, share_that_hides
from reference.compression.reduce import allgather_cost, allgather_sum
from reference.compression.select import NONE, Candidate, CodecChoice, GroupLink
from reference.compression.sparse import sparse_bytes
from reference.models import generator
from reference.networks import Link
from reference.worlds import launch

SIZES = (30, 50)


def gradients(rank, step):
    return [torch.randn(d, generator=generator(rank, step, d)) for d in SIZES]


@pytest.mark.parametrize("P", [2, 8, 64])
@pytest.mark.parametrize("window", [1e-4, 1e-3, 1e-2])
def test_the_share_is_the_largest_that_hides(P, window):
    d, link = 100_000, GroupLink(P, 1e-7, 1e-9)
    k = round(share_that_hides(d, window, link, least=0) * d)

    def seconds(k):
        return allgather_cost(P, sparse_bytes(k, d), d, Link(link.alpha, link.beta)).seconds

    assert (k == 0 or seconds(k) <= window) and (k == d or seconds(k + 1) > window)


def test_no_window_no_share_and_all_of_it_where_there_is_room():
    link = GroupLink(8, 1e-6, 1e-9)
    assert share_that_hides(1000, 0.0, link) == 0.001 and share_that_hides(1000, 1.0, link) == 1
    assert share_that_hides(1000, 0.0, GroupLink(1, 0, 0)) == 1


def test_errors_outlive_the_codec_and_go_out_in_full(world):
    """Two codecs, then none, then every fifth step in full: nothing is lost, and after a full step nothing is late."""

    def program(comm):
        one, other = Candidate("a", top_k(3)), Candidate("b", int8())
        summer = Adaptive(comm, CodecChoice((one, NONE), 0.0), SIZES, full_every=5)
        received, late = [torch.zeros(d) for d in SIZES], []
        for step in range(6):
            if step == 2:
                summer.choice = CodecChoice((other, one), 0.0)
            for total, part in zip(received, summer.sum(gradients(comm.rank, step))):
                total += part
            late.append([float(error.norm()) for error in summer.errors])
        return received, late, summer.errors

    P = 3
    results = launch(program, P, world=world).results
    for i in range(2):
        there_was = sum(gradients(rank, step)[i] for rank in range(P) for step in range(6))
        assert torch.allclose(results[0][0][i] + sum(errors[i] for _, _, errors in results), there_was, atol=1e-4)
        assert all(torch.equal(received[i], results[0][0][i]) for received, _, _ in results)
    late = results[0][1]
    assert late[1][0] > 3 and late[1][1] == 0 and late[2][0] < 0.2 and late[3][1] > 3  # int8 sends nearly all at once
    assert late[4] == [0, 0]


def test_a_threshold_follows_a_gradient_that_fades():
    """A tenth of the size at the end: about k of d elements are sent all the time, with no sorting."""
    d, k, steps = 2000, 40, 100
    sender, sent, received, there_was = FollowingThreshold(k, d), [], torch.zeros(d), torch.zeros(d)
    for step in range(steps):
        g = torch.randn(d, generator=generator(step)) * 0.1 ** (step / steps)
        there_was += g
        part = sender.decode(sender.encode(g), d)
        received += part
        sent.append(int(part.count_nonzero()))
    assert k / 4 < min(sent) and max(sent) < 5 * k and max(sent[20:]) < 2 * k and abs(sum(sent) / steps - k) < 0.2 * k
    assert torch.allclose(received + sender.error, there_was, atol=1e-3)
    assert not (g.abs() > 2).any()  # above what was the threshold in the beginning there is nothing left


def test_its_wires_are_summed_like_any_others_and_a_nan_changes_nothing():
    def program(comm):
        return allgather_sum(comm, FollowingThreshold(0.1, 30), gradients(comm.rank, 0)[0])

    results = launch(program, 3).results
    assert all(torch.equal(found, results[0]) for found in results) and 5 <= results[0].count_nonzero() <= 9
    sender = FollowingThreshold(3, 4)
    assert not sender.decode(sender.encode(torch.zeros(4)), 4).any()  # nothing to send, and no threshold yet
    sender.encode(torch.tensor([1.0, 2, 3, 4]))
    before = sender.error.clone(), sender.tau
    with pytest.raises(ValueError, match="1 of 4 elements are NaN"):
        sender.encode(torch.tensor([1.0, math.nan, 3, 4]))
    assert torch.equal(sender.error, before[0]) and sender.tau == before[1] > 0
