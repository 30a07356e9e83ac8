"""Packets and their headers, and what the processors do for a message: worked by hand, then as properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference.networks.links import link
from reference.networks.transport import (
    INFINIBAND,
    ROCE_V2,
    TCP,
    copy_bandwidth,
    goodput,
    host_seconds,
    packets,
    path_mtu,
    wire_bytes,
)

PROTOCOLS = pytest.mark.parametrize("protocol, mtu", [(INFINIBAND, 4096), (ROCE_V2, 1024), (TCP, 1500)])


def test_bytes_per_packet():
    assert INFINIBAND.overhead == 8 + 12 + 4 + 2
    assert ROCE_V2.overhead == 38 + 20 + 8 + 12 + 4 == 82
    assert TCP.overhead == 38 + 20 + 20 + 12 == 90


@pytest.mark.parametrize(
    "protocol, nbytes, mtu, number, wire",
    [
        (TCP, 1448, 1500, 1, 1538),  # the largest segment fills the frame: 1500 and 38 around it
        (TCP, 1449, 1500, 2, 1449 + 2 * 90),
        (TCP, 0, 1500, 1, 90),
        (ROCE_V2, 4096, 4096, 1, 4096 + 82 + 16),
        (ROCE_V2, 4097, 4096, 2, 4100 + 2 * 82 + 16),  # padded to a multiple of 4
        (INFINIBAND, 8192, 4096, 2, 8192 + 2 * 26 + 16),
        (INFINIBAND, 1, 256, 1, 4 + 26 + 16),
    ],
)
def test_by_hand(protocol, nbytes, mtu, number, wire):
    assert packets(protocol, nbytes, mtu) == number
    assert wire_bytes(protocol, nbytes, mtu) == wire


def test_goodput_of_a_long_message():
    long = 2**30
    assert goodput(TCP, long, 1500, 1.0) == pytest.approx(1448 / 1538, rel=1e-4)
    assert goodput(ROCE_V2, long, 4096, 1.0) == pytest.approx(4096 / 4178, rel=1e-4)
    assert goodput(INFINIBAND, long, 4096, 1.0) == pytest.approx(4096 / 4122, rel=1e-4)
    assert goodput(TCP, 0, 1500, 1.0) == 0.0


def test_larger_frames_help_and_roce_needs_them():
    long = 2**30
    on_1500 = goodput(ROCE_V2, long, path_mtu(1500), 100.0)
    assert on_1500 < goodput(TCP, long, 1500, 100.0) < goodput(ROCE_V2, long, path_mtu(9000), 100.0)
    assert goodput(ROCE_V2, long, 4096, 100.0) < goodput(INFINIBAND, long, 4096, 100.0)


@pytest.mark.parametrize("ethernet, path", [(1500, 1024), (4191, 2048), (4192, 4096), (9000, 4096), (352, 256)])
def test_path_mtu(ethernet, path):
    assert path_mtu(ethernet) == path


@PROTOCOLS
@given(nbytes=st.integers(0, 10**9))
def test_a_message_fits_in_its_packets_and_in_no_fewer(protocol, mtu, nbytes):
    number, room = packets(protocol, nbytes, mtu), mtu - protocol.in_mtu
    assert number >= 1 and nbytes <= number * room
    assert number == 1 or nbytes > (number - 1) * room
    assert wire_bytes(protocol, nbytes, mtu) <= wire_bytes(protocol, nbytes + 1, mtu)
    assert wire_bytes(protocol, nbytes, mtu) >= nbytes + number * protocol.overhead


@PROTOCOLS
@given(nbytes=st.integers(1, 10**9), rate=st.floats(1.0, 1e12))
def test_goodput_is_below_the_line_rate_and_proportional_to_it(protocol, mtu, nbytes, rate):
    assert 0 < goodput(protocol, nbytes, mtu, rate) < rate
    assert goodput(protocol, nbytes, mtu, rate) == pytest.approx(rate * goodput(protocol, nbytes, mtu, 1.0))


def test_host_seconds_by_hand():
    sockets = host_seconds(10**6, copies=1, copy_bandwidth=1e10, handled=16, per_packet=1e-6, per_message=2e-6)
    assert sockets == pytest.approx(1e-4 + 16e-6 + 2e-6)
    rdma = host_seconds(10**6, copies=0, copy_bandwidth=1e10, per_message=2e-7)
    assert rdma == host_seconds(10**9, copies=0, copy_bandwidth=1e10, per_message=2e-7) == 2e-7  # whatever the size


def test_a_core_that_copies_at_10_gigabytes_cannot_feed_an_hdr_port():
    n = 2**20
    assert n / host_seconds(n, copies=1, copy_bandwidth=10e9) == pytest.approx(10e9)
    assert link("InfiniBand HDR").bandwidth > 10e9


def test_this_machine_copies_at_a_plausible_speed():
    assert 1e8 < copy_bandwidth(2**22, repeat=2) < 1e13


@pytest.mark.parametrize(
    "wrong, says",
    [
        (lambda: packets(TCP, 100, 52), "MTU of 52 less 52 bytes of headers leaves 0"),
        (lambda: packets(ROCE_V2, -1, 4096), "-1 bytes over RoCE v2"),
        (lambda: path_mtu(351), "at least 352, got 351"),
        (lambda: host_seconds(1, 1, 0.0), "copy_bandwidth > 0"),
        (lambda: host_seconds(1, -1, 1.0), "copies=-1"),
        (lambda: host_seconds(1, 1, 1.0, per_packet=-1e-6), "per_packet=-1e-06"),
    ],
)
def test_nonsense_is_refused_with_the_numbers(wrong, says):
    with pytest.raises(ValueError, match=says):
        wrong()
