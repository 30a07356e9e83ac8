"""The sums of 200T as printed in common accounts, and as they are; how tiers are filled; the table of the page."""

import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.caching.budget import (
    TB,
    Need,
    StorageRoom,
    activation_bytes,
    budget_table,
    link_seconds,
    needs,
    nodes_for,
    place,
)
from reference.networks.links import link
from reference.perf.recipes import Recipe
from reference.perf.transformer import layer_bytes, layer_parameters

PSI = 200 * TB
NODE = 8 * 80e9
GIVEN = {
    "parameters": 200.0,
    "weights": 2,
    "gradients": 2,
    "optimizer": 12,
    "layers": 120,
    "width": 20480,
    "heads": 160,
    "length": 8192,
    "batch": 64,
    "flash": 1,
    "recompute": 0,
    "accelerators": 2048,
    "memory": 80.0,
    "reserve": 0.25,
    "per_node": 8,
    "host": 2.0,
    "link": 63.0,
    "drives": 100.0,
    "drive": 28.0,
    "copies": 2,
}


def total(wanted):
    return sum(need.nbytes for need in wanted)


def test_e1_01_625_nodes_hold_400_tb():
    assert nodes_for(2 * PSI, NODE) == 625
    assert nodes_for(2 * PSI, 625e9) == 640  # 8 x 80 GB are not 0.625 TB


def test_e1_02_e1_03_the_states_are_16_bytes_a_parameter_on_5000_nodes():
    states = needs(PSI, copies=0)
    assert {need.name: need.nbytes / TB for need in states[1:4]} == {
        "weights": 400,
        "gradients": 400,
        "optimizer": 2400,
    }
    assert [(need.reads, need.writes) for need in states] == [(1, 1), (2, 1), (1, 1), (1, 1), (0, 0)]
    assert total(states) == 3200 * TB and nodes_for(total(states), NODE) == 5000
    assert nodes_for(total(states), NODE, reserve=0.25) == 6667
    moments = needs(PSI, recipe=Recipe(2, 2, 8))[3]
    assert moments.nbytes == 4 * 2 * PSI  # four times the weights' bytes, not two to three
    assert 2000 * NODE == 1280 * TB  # what 2,000 nodes hold


def test_e1_04_activations_depend_on_the_length_above_all():
    shape = {"layers": 120, "b": 1, "h": 20480, "a": 160}
    with_scores = [activation_bytes(s=s, scores=True, recompute=False, **shape) for s in (10_000, 14_000)]
    without = [activation_bytes(s=s, scores=False, recompute=False, **shape) for s in (120_000, 240_000)]
    assert with_scores[0] == pytest.approx(10 * TB, rel=0.1) and with_scores[1] == pytest.approx(20 * TB, rel=0.1)
    assert without == pytest.approx([10 * TB, 20 * TB], rel=0.02)
    kept = activation_bytes(s=8192, scores=False, recompute=True, **shape)
    assert kept == 120 * 2 * 8192 * 20480 + layer_bytes(1, 8192, 20480, 160, scores=False)
    full = activation_bytes(s=8192, scores=False, recompute=False, **shape)
    assert full == 17 * 120 * 2 * 8192 * 20480 and round(full / kept) == 15
    assert 120 * layer_parameters(20480) == pytest.approx(0.604e12, rel=1e-3)  # and that shape has no 200T weights


def test_e1_45_gradients_are_memory_too():
    by_its_own_numbers = 400 + 20 + 800
    assert by_its_own_numbers == 1220 and by_its_own_numbers + 400 == 1620
    assert total(needs(PSI, 20 * TB, copies=0)) / TB == 3220
    assert total(needs(PSI, 20 * TB, copies=0)) - needs(PSI)[2].nbytes == 2820 * TB


def test_e1_50_e1_51_e1_52_the_exercise_s_machine_holds_no_training():
    hbm, dram, drives = 2048 * 80e9, 256 * 2 * TB, 100 * TB
    assert (hbm - 160 * TB) / 2048 == pytest.approx(1.875e9)  # left to an accelerator for everything else
    assert hbm + dram + drives == pytest.approx(775.84 * TB)
    states = needs(PSI, copies=1)
    placed = place(states, [StorageRoom("hbm", hbm), StorageRoom("dram", dram), StorageRoom("drives", drives)])
    assert sum(row[-1] for row in placed) == pytest.approx((3200 + 2800 - 775.84) * TB)
    assert states[-1].nbytes == 2800 * TB > drives  # one checkpoint
    assert pytest.approx(117.2e9, rel=1e-3) == 240 * TB / 2048  # in host memory, for each accelerator
    assert 240 * TB / 2048 / link("PCIe 5 x16").bandwidth == pytest.approx(1.86, abs=0.01)  # seconds a pass
    weights_only = place(states[1:2], [StorageRoom("hbm", hbm), StorageRoom("dram", dram)])
    assert weights_only[0] == pytest.approx([163.84 * TB, 236.16 * TB, 0])  # inference fits


def test_no_number_of_accelerators_finds_room_for_the_checkpoint():
    def no_room(accelerators, drives=100):
        given = (200, 2, 2, 12, 120, 20480, 160, 8192, 64, 1, 0, accelerators, 80, 0.25, 8, 2, 63, drives, 28, 1)
        return [row["no room"] for row in budget_table(*given)[:5]]

    assert sum(no_room(10_136)[:4]) > 0 and no_room(10_137)[:4] == [0, 0, 0, 0]
    assert no_room(1_000_000)[4] == pytest.approx(2700)  # drives alone hold checkpoints
    assert sum(no_room(20_000, drives=2800)) == 0


def test_e4_10_gradients_and_optimizer_are_most_of_it():
    states = needs(PSI, 20 * TB, copies=0)
    assert (states[0].nbytes + states[1].nbytes) / total(states) < 0.14


@given(
    st.lists(st.tuples(st.integers(0, 50), st.booleans()), min_size=1, max_size=5),
    st.lists(st.integers(0, 40), min_size=1, max_size=4),
)
def test_every_byte_is_placed_once_and_no_tier_overflows(rows, capacities):
    wanted = [Need(str(i), n, reads=int(hot)) for i, (n, hot) in enumerate(rows)]
    rooms = [StorageRoom(str(i), n) for i, n in enumerate(capacities)]
    placed = place(wanted, rooms)
    assert [sum(row) for row in placed] == [need.nbytes for need in wanted]
    for i, room in enumerate(rooms):
        assert sum(row[i] for row in placed) <= room.nbytes
    for need, row in zip(wanted, placed):
        assert need.reads or not any(row[: len(rooms) - 1])


def test_seconds_of_links_by_hand():
    rooms = [StorageRoom("near", 10), StorageRoom("far", 100, bandwidth=5.0)]
    wanted = [Need("weights", 20, reads=2, writes=1)]
    assert link_seconds(wanted, place(wanted, rooms), rooms) == [0, 3 * 10 / 5]


def test_the_table_adds_up():
    rows = {row["TB of"]: row for row in budget_table(**GIVEN)}
    assert rows["all"]["needed"] == pytest.approx(3200 + 5600 + rows["activations"]["needed"])
    assert rows["room"]["accelerators"] == pytest.approx(2048 * 0.08 * 0.75) and rows["room"]["host memory"] == 512
    where = "accelerators", "host memory", "drives", "no room"
    assert sum(rows["all"][column] for column in where) == pytest.approx(rows["all"]["needed"])
    assert rows["s a step on links"]["host memory"] > 0
    kept = {row["TB of"]: row for row in budget_table(**GIVEN | {"recompute": 1})}
    assert kept["activations"]["needed"] < rows["activations"]["needed"] / 10


@pytest.mark.parametrize("wrong", [{"reserve": 1.0}, {"layers": 0}, {"flash": 2}, {"memory": -1}, {"link": 0}])
def test_the_table_refuses_what_makes_no_sense(wrong):
    with pytest.raises(ValueError):
        budget_table(**GIVEN | wrong)


def test_a_page_can_ask_for_it_without_numpy():
    code = "import sys, reference.caching.budget; print({'numpy', 'torch', 'mpi4py'} & {*sys.modules})"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "set()\n"
