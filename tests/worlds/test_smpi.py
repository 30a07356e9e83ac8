"""The clock against SimGrid's SMPI, as it was run (chapters/data/smpi.csv, benchmarks/smpi.py)."""

import csv
from pathlib import Path

import pytest

from reference.worlds.smpi import cases, platform, trace

ROOT = Path(__file__).parents[2]
STORED = {
    (row["network"], row["case"]): float(row["seconds"])
    for row in csv.DictReader((ROOT / "chapters/data/smpi.csv").open())
}
CASES = [(network, case) for network, own in cases().items() for case in own]
each = pytest.mark.parametrize("network, case", CASES, ids=[f"{case.P} {case.name}" for _, case in CASES])
UNLIKE_LATENCIES = "double tree, segments 8, 1 MiB"  # on a fat tree: SimGrid gives less latency more of a link


@each
def test_fair_sharing_is_that_of_smpi(network, case):
    alike = 0.05 if case.name == UNLIKE_LATENCIES and network.startswith("fat") else 1e-3
    assert case.seconds("fair") == pytest.approx(STORED[network, case.name], rel=alike)


def test_in_turns_is_as_long_where_messages_meet_in_step_or_not_at_all():
    """And up to a fifth shorter, or two fifths longer, where who is late finds ports and cables taken."""
    off = {(network, case.name): case.seconds("fifo") / STORED[network, case.name] - 1 for network, case in CASES}
    assert (
        sum(abs(error) < 1e-3 for error in off.values()) == 17 and -0.21 < min(off.values()) < max(off.values()) < 0.4
    )


def test_every_case_is_stored():
    assert {(network, case.name) for network, case in CASES} == set(STORED)


def test_what_simgrid_is_given():
    """What each rank does, and a port in and out for each."""
    case = next(case for _, case in CASES if case.name == "incast, 8 B each")
    assert trace(case.groups(0)).splitlines() == [*(f"r {source} 8" for source in range(1, 16)), "w"]
    assert trace(case.groups(3)) == "s 0 8\nw\n"
    text = platform(case.network, 4)
    assert text.count("<host ") == 4 and text.count("<route ") == 12 and text.count('sharing_policy="SHARED"') == 8
    assert '<link id="out0" bandwidth="10000.0Bps" latency="0.0s" sharing_policy="SHARED"/>' in text
    assert (
        '<route src="h0" dst="h2" symmetrical="NO"><link_ctn id="out0"/><link_ctn id="latency0"/><link_ctn id="in2"/>'
        in text
    )
