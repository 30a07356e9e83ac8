"""The catalogue of links, and the errata about it: each number of the claims is computed again here."""

import re

import pytest

from reference.networks import links


def test_units():
    assert links.gigabits(200) == 25e9  # an HDR port is 25 GB/s
    assert links.pcie(8) == pytest.approx(15.75e9, rel=1e-3)  # as in the table of every PCIe primer
    assert links.pcie(16, lanes=4) == links.pcie(16) / 4


@pytest.mark.parametrize("link", links.LINKS, ids=lambda link: link.name)
def test_every_link_has_what_it_takes(link):
    assert 0 < link.bandwidth <= link.sold_as
    assert link.latency is None or 0 < link.latency < 1e-5  # E2-26: microseconds at most, not milliseconds
    assert link.reach in {"node", "rack", "cluster"}
    assert link.adds_up and link.source and re.fullmatch(r"\d{4}-\d\d-\d\d", link.date)


def test_names_are_unique_whatever_their_case():
    assert len({link.name.lower() for link in links.LINKS}) == len(links.LINKS)


@pytest.mark.parametrize("name", ["NVLink 2", "NVLink 3", "NVLink 4", "NVLink 5", "MI300X fabric"])
def test_e3_01_the_headline_of_a_gpu_adds_up_both_directions(name):
    assert links.link(name).sold_as == 2 * links.link(name).bandwidth


@pytest.mark.parametrize("name", ["PCIe 3 x16", "PCIe 4 x16", "PCIe 5 x16"])
def test_e3_01_the_headline_of_pcie_does_too_and_forgets_line_coding(name):
    assert links.link(name).sold_as == pytest.approx(2 * links.link(name).bandwidth * 130 / 128)


@pytest.mark.parametrize("link", [link for link in links.LINKS if link.reach == "cluster"], ids=lambda link: link.name)
def test_networks_are_sold_by_one_direction_and_in_bits(link):
    gbits = float(link.adds_up.split()[0])
    assert link.sold_as == link.bandwidth == gbits * 1e9 / 8


@pytest.mark.parametrize(
    "name, gbytes",
    [("NVLink 2", 150), ("NVLink 3", 300), ("NVLink 4", 450), ("NVLink 5", 900), ("PCIe 4 x16", 31.5), ("UPI 2.0", 48)]
    + [("InfiniBand EDR", 12.5), ("InfiniBand HDR", 25), ("InfiniBand NDR", 50), ("Ethernet 10G", 1.25)],
)
def test_figures(name, gbytes):
    assert links.link(name).bandwidth == pytest.approx(gbytes * 1e9, rel=1e-3)


def test_e1_46_200_gigabytes_is_eight_hdr_ports():
    assert links.link("InfiniBand HDR").bandwidth == 25e9
    assert 200e9 / links.link("InfiniBand HDR").bandwidth == 8


def speed(fast, slow):
    return links.link(fast).bandwidth / links.link(slow).bandwidth


def test_e2_25_300_against_10_gigabytes_is_30_times():
    assert links.link("NVLink 3").bandwidth / 10e9 == 30
    assert speed("NVLink 3", "Ethernet 10G") == 240  # if gigabits were meant
    assert speed("NVLink 3", "InfiniBand HDR") == 12  # one card each


def test_e2_25_pcie_is_a_tenth_of_nvlink_of_a100_and_a_seventh_of_h100():
    assert speed("NVLink 3", "PCIe 4 x16") == pytest.approx(9.5, abs=0.05)
    assert speed("NVLink 4", "PCIe 5 x16") == pytest.approx(7.1, abs=0.05)
    assert speed("NVLink 5", "PCIe 5 x16") == pytest.approx(14.3, abs=0.05)  # NVIDIA: "over 14X"


def test_names_are_found_in_any_case_and_unknown_ones_are_answered_with_all():
    assert links.link("nvlink 3") is links.link("NVLink 3")
    with pytest.raises(ValueError, match=r"'NVLink 9'.*NVLink 2.*Ethernet 400G"):
        links.link("NVLink 9")
    with pytest.raises(ValueError, match="NVLink 2"):
        links.beta("")


def test_beta_is_seconds_per_byte():
    assert links.beta("InfiniBand HDR") == pytest.approx(4e-11)


def test_the_table_has_a_line_for_each_link_or_those_named():
    head, *lines = links.table().splitlines()
    assert [line[:15].strip() for line in lines] == [link.name for link in links.LINKS]
    assert links.table("NVLink 3").splitlines() == [head, lines[1]]
    assert lines[1].split()[2:6] == ["300.00", "600.00", "0.6", "us"]
    assert lines[4].split()[2:6] == ["448.00", "896.00", "-", "node"]
