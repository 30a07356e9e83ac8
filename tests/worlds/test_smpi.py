"""The clock against SimGrid's SMPI, as it was run (chapters/data/smpi.csv, benchmarks/smpi.py)."""

import csv
from math import inf
from pathlib import Path

import pytest

from reference.networks import SwitchTree
from reference.networks.booking import Bookings
from reference.worlds.smpi import HALF_CORE, KIB, MIB, Case, _allreduce, _level, _shifts, cases, platform, trace

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


def core_idle(case, monkeypatch) -> tuple[set[float], float]:
    """For how long each cable to the core stands idle before its last message, and a message's time on one (s)."""
    names, ways, held = {}, [], {}
    taken, take = Bookings.taken, Bookings.take

    def named(self, way):
        ways.append(taken(self, way))  # kept, so that an id names one of them
        names.update((id(times), thing) for thing, times in zip(way, ways[-1]))
        return ways[-1]

    def noted(self, now, times, lasts):
        start = take(self, now, times, lasts)
        for thing in (names[id(each)] for each in times):
            held.setdefault(thing, []).append((start, lasts))
        return start

    monkeypatch.setattr(Bookings, "taken", named)
    monkeypatch.setattr(Bookings, "take", noted)
    case.seconds("fifo")
    core = [messages for thing, messages in held.items() if thing[0] == 1]
    idle = {round(max(map(sum, messages)) - sum(lasts for _, lasts in messages), 9) for messages in core}
    return idle, core[0][0][1]


def test_cables_to_the_core_stand_idle_for_as_long_as_two_or_four_messages(monkeypatch):
    """Such a moment is not "too short for any message", as was said: the rest of the way is taken."""
    (case,) = (case for network, case in CASES if network.startswith("fat") and case.name.startswith("all-to-all"))
    idle, message = core_idle(case, monkeypatch)
    assert idle == {round(2 * message, 9), round(4 * message, 9)}
    monkeypatch.undo()
    assert case.seconds("fifo") - case.seconds("fair") == pytest.approx(4 * message, rel=1e-6)


def test_a_single_shift_takes_as_long_both_ways_by_5_and_not_by_any_distance():
    def ratio(distance):
        groups = _shifts(HALF_CORE, 32, distance, 64 * KIB).groups
        once = Case("once", HALF_CORE, 32, lambda rank: groups(rank)[:1])
        return once.seconds("fifo") / once.seconds("fair")

    assert ratio(5) == pytest.approx(1) and ratio(3) > 1.19 and ratio(9) > 1.14


def test_with_equal_latencies_a_double_tree_is_five_percent_shorter_in_turns():
    alike = SwitchTree((_level(2, 5e-6, 1e-11), _level(8, 5e-6, 4e-11, 2), _level(inf, 5e-6, 4e-11)))
    tree = _allreduce("double tree", alike, 32, MIB, segments=8)
    assert tree.seconds("fifo") / tree.seconds("fair") == pytest.approx(0.95, abs=0.002)


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
