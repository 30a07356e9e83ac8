"""The catalogue of accelerators: figures that one can look up, and the headline that is twice what one gets."""

import re

import pytest

from reference.networks import links
from reference.perf import accelerators
from reference.perf.accelerators import ACCELERATORS, accelerator


@pytest.mark.parametrize("device", ACCELERATORS, ids=lambda device: device.name)
def test_every_accelerator_has_what_it_takes(device):
    assert device.flops > 0 and device.bandwidth > 0 and 1e9 <= device.memory <= 1e12
    assert device.fp8 is None or 1 <= device.fp8 / device.flops <= 2.1
    assert device.measured is None or 0.5 < device.efficiency < 0.9  # nobody reaches the peak
    assert device.sparse is None or device.sparse > 1.9 * device.flops
    assert 5 <= device.flops / device.bandwidth < 600  # FLOPs per byte: a wrong unit would not do
    assert device.source and re.fullmatch(r"\d{4}-\d\d-\d\d", device.date)


def test_names_are_unique_whatever_their_case():
    assert len({device.name.lower() for device in ACCELERATORS}) == len(ACCELERATORS)


@pytest.mark.parametrize(
    "name, tflops, gigabytes, terabytes",
    [("V100 SXM", 125, 16, 0.9), ("A100 SXM", 312, 80, 2.039), ("H100 SXM", 989, 80, 3.35), ("H200 SXM", 989, 141, 4.8)]
    + [("B200 SXM", 2250, 180, 8.0), ("MI300X", 1300, 192, 5.3), ("TPU v5e", 197, 16, 0.819)],
)
def test_figures(name, tflops, gigabytes, terabytes):
    device = accelerator(name)
    assert (device.flops, device.memory, device.bandwidth) == pytest.approx(
        (tflops * 1e12, gigabytes * 1e9, terabytes * 1e12)
    )


def test_the_headline_with_sparsity_is_twice_the_dense_rate_or_more():
    ratios = {device.name: device.sparse / device.flops for device in ACCELERATORS if device.sparse}
    assert ratios.pop("Trainium2") == pytest.approx(3.84, abs=0.01)
    assert len(ratios) >= 6 and all(ratio == pytest.approx(2, rel=2e-3) for ratio in ratios.values())


@pytest.mark.parametrize("name, link", [("V100 SXM", "NVLink 2"), ("A100 SXM", "NVLink 3"), ("H100 SXM", "NVLink 4")])
def test_scale_up_is_one_direction_as_in_the_catalogue_of_links(name, link):
    assert accelerator(name).scale_up == links.link(link).bandwidth


def test_names_are_found_in_any_case_and_unknown_ones_are_answered_with_all():
    assert accelerator("h100 sxm") is accelerator("H100 SXM")
    with pytest.raises(ValueError, match=r"'H100'.*V100 SXM.*CPU core"):
        accelerator("H100")


def test_the_table_has_a_line_for_each_accelerator_or_those_named():
    head, *lines = accelerators.table().splitlines()
    assert [line[:11].strip() for line in lines] == [device.name for device in ACCELERATORS]
    assert len({len(line) for line in (head, *lines)}) == 1
    assert accelerators.table("H100 SXM").splitlines() == [head, lines[3]]
    assert lines[3].split()[2:] == ["989", "1979", "794.5", "1979", "80", "3.35", "450", "295"]
    assert lines[0].split()[2:] == ["125", "-", "-", "-", "16", "0.9", "150", "139"]
