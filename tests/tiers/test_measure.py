"""What is measured is of the size that was asked for, and what is printed is what was measured."""

import os

from reference.tiers import measure
from reference.tiers.measure import DriveFigures, MemoryPoint


def test_memory_and_its_working_sets():
    assert measure.working_sets(2**16 + 5) == [2**13, 2**14, 2**15, 2**16]
    points = measure.memory([2**13, 2**15], turns=1, steps=1000)
    assert [point.nbytes for point in points] == [2**13, 2**15]
    assert all(1e7 < point.bandwidth < 1e13 for point in points)


def test_the_fastest_turn_counts(monkeypatch):
    clock = iter([0, 5, 10, 12, 20, 29])
    monkeypatch.setattr(measure.time, "perf_counter", lambda: next(clock))
    assert measure.fastest(lambda: None, 3) == 2


def test_a_drive_and_nothing_is_left_on_it(tmp_path):
    figures = measure.drive(tmp_path, 2**20, turns=1)
    assert min(figures[1:]) > 0 and figures.way in ("io_uring", "direct", "buffered") and os.listdir(tmp_path) == []
    assert abs(figures.random_read * figures.random_latency - 4096) < 1e-6


def test_caches_as_linux_tells_them(tmp_path):
    for number, (level, kind, size) in enumerate(
        [("1", "Data", "32K"), ("1", "Instruction", "64K"), ("2", "Unified", "1024K")]
    ):
        (tmp_path / f"index{number}").mkdir()
        for name, text in (("level", level), ("type", kind), ("size", size)):
            (tmp_path / f"index{number}" / name).write_text(text + "\n")
    assert measure.caches(tmp_path) == {"L1": 2**15, "L2": 2**20} and measure.caches(tmp_path / "none") == {}


def test_the_table():
    points = [MemoryPoint(2**13, 1.2e-9, 6e10), MemoryPoint(2**28, None, 1.5e10)]
    rows = measure.lines(points, DriveFigures("io_uring", 1e9, 2e9, 1e-4, 4.096e7, 2e8))
    assert [row.split() for row in rows[1:3]] == [
        ["8", "KiB", "1.2", "ns", "60", "GB/s"],
        ["256", "MiB", "-", "15", "GB/s"],
    ]
    assert rows[3].split()[-3:] == ["-", "2", "GB/s"] and "io_uring" in rows[3] and "100 us" in rows[5]
