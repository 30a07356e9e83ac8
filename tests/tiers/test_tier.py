"""Tiers as data, and copies to and from them."""

import pytest
import torch

from reference import mpi
from reference.tiers.tier import TIERS, CopyEngines, Tier, table, tier
from reference.worlds import launch

SLOW = Tier("slow", read=200.0, write=100.0, latency=0.5)


def test_a_tier_is_found_by_its_name_and_says_where_it_is_from():
    assert tier("nvme, 4 of gen 4").read == 10e9
    assert tier("host, PCIe 4").write == pytest.approx(31.5e9, rel=1e-3)
    assert tier("NVMe, DGX-2, 16 GPUs").read == 1.75e9
    assert all(one.source and one.date and 0 < one.write <= one.read for one in TIERS)
    assert all(one.name in table() for one in TIERS)
    with pytest.raises(ValueError, match=r"no tier is called 'tape'; there are: host, PCIe 3; "):
        tier("tape")


def test_ranks_that_share_a_tier_have_a_part_of_its_bandwidth():
    assert SLOW.shared(4).reading(100) == 0.5 + 100 / 50


@pytest.mark.parametrize("duplex, end", [(True, 4 * 0.5 + 4 * 4), (False, 8 * 0.5 + 4 * 4 + 4 * 2)])
def test_copies_take_latency_and_bytes_over_bandwidth_one_after_the_other(duplex, end):
    def program(comm):
        engines = CopyEngines(comm, SLOW, duplex)
        for _ in range(4):
            engines.down("g", torch.ones(100), torch.zeros(100))
            engines.up("w", torch.ones(100), torch.zeros(100))
        engines.drain()
        return comm.wtime(), engines.bytes_down, engines.bytes_up, len(engines.records), len(engines.engines)

    assert launch(program, 1).results == [(end, 1600, 1600, 8, 2 if duplex else 1)]


def test_copies_convert_and_count_the_bytes_that_cross(world):
    def program(comm):
        engines, below = CopyEngines(comm, SLOW), torch.zeros(8)
        short = torch.full((8,), 1.5, dtype=torch.bfloat16)
        down = engines.down("g", short, below)
        mpi.compute(comm, 0.01)
        engines.up("w", below, target := torch.zeros(8, dtype=torch.bfloat16), after=[down]).wait()
        return target.float().tolist(), below.tolist(), engines.bytes_down, engines.bytes_up

    assert launch(program, 2, world=world).results == [([1.5] * 8, [1.5] * 8, 16, 16)] * 2
