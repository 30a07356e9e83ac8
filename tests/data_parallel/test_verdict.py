"""Verdict: what is called verified was compared, and NaN never is, however equal it is."""

import math

import pytest
import torch

from reference.data_parallel.replicate import Diverged, not_finite
from reference.data_parallel.verdict import diverged, verify
from reference.models.mlp import MLP
from reference.worlds import launch
from reference.worlds.errors import RankFailed

nan, inf = math.nan, math.inf


def verdict(losses, serial, ranks=2, weight=0.5, inexact=""):
    """That of some ranks which all hold the same model, with this number planted in it."""

    def program(comm):
        model = MLP((3, 2), seed=0)
        with torch.no_grad():
            model[0].bias[1] = weight
        return verify(comm, model, losses, lambda: serial, inexact)

    found, *others = launch(program, ranks).results
    assert all(other == found for other in others)
    return found


def test_equal_losses_and_weights_are_verified():
    found = verdict([2.0, 1.0], [2.0, 1.00001])
    assert found and found.same_bits and found.losses_equal and found.off_serial == pytest.approx(1e-5, rel=1e-3)
    assert str(found) == "verified: the same bits on all ranks; losses off the serial program's by 1.0e-05"


def test_one_rank_has_verified_no_bits():
    found = verdict([2.0], [2.0], ranks=1)
    assert found and found.same_bits is None
    assert str(found) == (
        "verified: losses off the serial program's by 0.0e+00; one rank has no other to compare its bits with"
    )


def test_losses_that_may_differ_are_not_verified():
    found = verdict([2.0], [1.0], inexact="gradients are late")
    assert (
        found
        and found.losses_equal is None
        and str(found)
        == (
            "verified: the same bits on all ranks; not verified: losses off the serial program's by 1.0e+00, "
            "for gradients are late"
        )
    )
    alone = verdict([2.0], [1.0], ranks=1, inexact="gradients are late")
    assert not alone and not alone.why and str(alone).startswith("nothing verified: one rank has no other")


@pytest.mark.parametrize("ranks", [1, 2])
@pytest.mark.parametrize("inexact", ["", "gradients are late"])
@pytest.mark.parametrize(
    "losses, weight, why",
    [
        ([2.0, nan, nan], 0.5, "loss is nan from step 1 on; try a smaller --rate"),
        ([2.0, inf, 1.0], 0.5, "loss is inf in step 1; try"),
        ([nan], 0.5, "loss is nan from step 0 on"),
        ([2.0], nan, "after the last step 0.bias of shape (2,) has 1 elements that are NaN or infinite; try"),
        ([2.0], -inf, "after the last step 0.bias"),
        ([], 0.5, "no loss to look at"),
    ],
)
def test_nan_is_never_verified_though_all_ranks_hold_the_same(losses, weight, why, inexact, ranks):
    found = verdict(losses, losses, ranks, weight, inexact)
    assert not found and found.same_bits is None and found.losses_equal is None and found.off_serial == inf
    assert str(found).startswith(f"NOT VERIFIED: {why}" if losses else "NOT VERIFIED: there is no loss to look at")


@pytest.mark.parametrize("serial", [[2.0, 1.1], [2.0, nan], [2.0], [2.0, 1.0, 0.5], []])
def test_other_losses_than_the_serial_programs_are_not_verified(serial):
    found = verdict([2.0, 1.0], serial)
    assert not found and found.losses_equal is False and found.same_bits
    assert str(found).startswith("NOT VERIFIED: losses are not the serial program's: ")


def test_a_rank_with_other_weights_is_found_out_even_if_it_alone_has_nan():
    def program(comm):
        model = MLP((3, 2), seed=0)
        with torch.no_grad():
            model[0].bias[0] = nan if comm.rank == 1 else 0.5
        verify(comm, model, [1.0], lambda: [1.0])

    with pytest.raises(RankFailed, match=Diverged.__name__):
        launch(program, 3)


def test_diverged_says_nothing_of_a_training_that_has_not():
    assert diverged([2.0, 1e30], MLP()) == "" and not_finite(MLP()) == ""
