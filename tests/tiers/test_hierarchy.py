"""The table of levels: complete, with sources, and in the order that depends on who asks (E1-21, E4-15)."""

from reference.networks.links import link
from reference.perf.accelerators import accelerator
from reference.tiers.hierarchy import levels, rate_text, seconds_text, table

BY_NAME = {row.level: row for row in levels()}


def test_every_level_has_a_source_and_a_figure():
    assert len(BY_NAME) == len(levels()) >= 10
    for row in levels():
        assert row.source and row.counted and (row.latency or row.bandwidth) and row.asked_by in ("GPU", "CPU", "host")


def test_figures_that_stand_elsewhere_too_are_the_same():
    for name in ("A100", "H100"):
        assert abs(BY_NAME[f"HBM of an {name}"].bandwidth / accelerator(f"{name} SXM").bandwidth - 1) < 1e-9
    assert abs(BY_NAME["host's memory, over PCIe 5"].bandwidth / link("PCIe 5 x16").bandwidth - 1) < 1e-3
    cycles = {"L1 cache of an H100": 32.0, "L2 cache of an H100": 280.4, "HBM of an H100": 680.4}
    for name, count in cycles.items():
        assert abs(BY_NAME[name].latency * 1.98e9 - count) < 0.2


def test_e1_21_each_asker_has_an_order_and_askers_have_none_between_them():
    gpu = [row.latency for row in levels() if row.asked_by == "GPU" and "A100" not in row.level]
    assert gpu == sorted(gpu) and len(gpu) == 4
    hbm, ddr = BY_NAME["HBM of an H100"], BY_NAME["host's memory, own socket"]
    assert hbm.latency > 3 * ddr.latency  # each for its own processor
    over_pcie = BY_NAME["host's memory, over PCIe 5"]
    assert over_pcie.latency > 10 * hbm.latency and over_pcie.bandwidth < hbm.bandwidth / 50
    assert over_pcie.bandwidth < ddr.bandwidth / 5  # PCIe is the limit, and not the host's memory
    assert BY_NAME["object store"].latency >= 0.1


def test_texts():
    assert [seconds_text(s) for s in (None, 1.62e-8, 9.2e-5, 0.1, 2)] == ["-", "16.2 ns", "92 us", "100 ms", "2 s"]
    assert [rate_text(r) for r in (None, 8.75e7, 3.35e12)] == ["-", "0.0875 GB/s", "3,350 GB/s"]
    assert table(levels()).splitlines()[1] == "L1 cache of an H100           GPU        16.2 ns            -"
