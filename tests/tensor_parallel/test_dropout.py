"""Dropout in a group: the same mask where all hold the same, others where each holds its own; the serial one."""

import torch
import torch.nn.functional as F

from reference.tensor_parallel.dropout import Masks
from reference.worlds import launch


def masks(comm, exact, dim):
    source = Masks(comm, 7, exact)
    size = 6 if dim is None else 6 // comm.size
    own = range(comm.rank * size, (comm.rank + 1) * size)
    return [source.dropout(torch.ones(500, size), 0.25, dim, own, 6) for _ in range(2)]


def test_where_all_hold_the_same_they_drop_the_same():
    found = launch(masks, 3, False, None).results
    assert all(torch.equal(a, b) for each in found for a, b in zip(each, found[0]))
    assert not torch.equal(*found[0])  # and others the next time


def test_where_each_holds_its_own_they_drop_different_ones():
    first = [each[0] for each in launch(masks, 3, False, 1).results]
    for k in range(3):
        same = (first[k] == first[k - 1]).double().mean()
        assert 0.55 < same < 0.7  # 0.75^2 + 0.25^2 = 0.625 of independent ones


def test_exact_ones_are_those_of_the_serial_program_at_every_degree():
    with torch.random.fork_rng():
        torch.manual_seed(7)
        serial = [F.dropout(torch.ones(500, 6), 0.25) for _ in range(2)]
    for ranks in (1, 2, 3):
        found = launch(masks, ranks, True, 1).results
        assert all(torch.equal(torch.cat([each[k] for each in found], 1), serial[k]) for k in range(2))
        found = launch(masks, ranks, True, None).results
        assert all(torch.equal(each[k], serial[k]) for each in found for k in range(2))


def test_as_many_are_dropped_as_asked_for_and_the_mean_stays():
    (first, _), *_ = launch(masks, 2, False, 1).results
    assert abs((first == 0).double().mean() - 0.25) < 0.03 and first.max() == torch.tensor(1 / 0.75)


def test_a_state_brings_back_the_same_masks():
    def program(comm):
        source = Masks(comm, 7)
        before = source.state()
        one = [source.dropout(torch.ones(50, 4), 0.5), source.dropout(torch.ones(50, 4), 0.5, 1)]
        source.restore(before)
        two = [source.dropout(torch.ones(50, 4), 0.5), source.dropout(torch.ones(50, 4), 0.5, 1)]
        return all(torch.equal(a, b) for a, b in zip(one, two)) and not torch.equal(*one)

    assert all(launch(program, 2).results)


def test_different_masks_on_ranks_that_hold_the_same_drive_them_apart():
    """The mistake that nothing reports: after one dropout layer the ranks train different models."""

    def program(comm, shared):
        torch.manual_seed(0 if shared else comm.rank)
        return F.dropout(torch.ones(20), 0.5)

    apart, together = (launch(program, 2, shared).results for shared in (False, True))
    assert torch.equal(*together) and not torch.equal(*apart)
