"""Transport: what a protocol adds to a message, headers on the wire and work of the processors at both ends.

On the wire. A message of n bytes travels as ceil(n / m) packets of up to m bytes, and each packet adds headers,
checksums and, on Ethernet, a gap. That costs a few per cent, and the larger the packets, the less. The three here:

    InfiniBand  its own link and transport layers (IBTA, InfiniBand Architecture Specification, volume 1)
    RoCE v2     InfiniBand's transport layer inside UDP, IP and Ethernet, so that routers forward it (IBTA, Annex A17)
    TCP         TCP and IP inside Ethernet (RFC 9293, RFC 791; time stamps as Linux sends them: RFC 7323)

At the ends. With sockets the kernel stands between: each byte is copied between the program's memory and the kernel's,
by the processor, at both ends, and each packet and call costs instructions. RFC 4297 (2005) argues that the copies
weigh most, and that the bandwidth of the memory is at the root of it. RDMA (remote direct memory access) has the
network card read and write the program's memory itself: no copy, no kernel, and a one-sided put or get does not
involve the other processor at all. What is left is to post the request.

Left out  Acknowledgements (they travel the other way), lost packets, symbols that frame an InfiniBand packet.
          Whether copies overlap with the wire: `host_seconds` is what one processor is busy, not what a message takes.
"""

from __future__ import annotations

from time import perf_counter
from typing import NamedTuple

import numpy as np

FRAME = {"preamble": 8, "Ethernet": 14, "FCS": 4, "gap": 12}  # IEEE 802.3: bytes, or byte times, of every frame
PATH_MTUS = (4096, 2048, 1024, 512, 256)  # payload of a packet of InfiniBand and RoCE
ROCE_RESERVE = 96  # what Linux takes off for headers, at their longest (include/rdma/ib_addr.h, iboe_get_mtu)


class Protocol(NamedTuple):
    """Bytes that each packet adds, by header; `in_mtu`: those that count as part of the MTU."""

    name: str
    headers: dict[str, int]
    in_mtu: int = 0  # 0: the MTU is the payload
    first: int = 0  # more in the first packet of a message
    multiple: int = 1  # the payload is padded to a multiple of this

    @property
    def overhead(self) -> int:
        """Bytes that each packet adds."""
        return sum(self.headers.values())


INFINIBAND = Protocol("InfiniBand", {"LRH": 8, "BTH": 12, "ICRC": 4, "VCRC": 2}, first=16, multiple=4)
ROCE_V2 = Protocol("RoCE v2", {**FRAME, "IPv4": 20, "UDP": 8, "BTH": 12, "ICRC": 4}, first=16, multiple=4)
TCP = Protocol("TCP", {**FRAME, "IPv4": 20, "TCP": 20, "time stamps": 12}, in_mtu=52)


def packets(protocol: Protocol, nbytes: int, mtu: int) -> int:
    """How many packets carry a message; an empty one needs one, too. Raises ValueError if the MTU has no room.

    mtu: for InfiniBand and RoCE the path MTU, bytes of payload (see `path_mtu`); for TCP that of Ethernet, bytes of IP.
    """
    room = mtu - protocol.in_mtu
    if room < 1 or nbytes < 0:
        raise ValueError(
            f"{nbytes} bytes over {protocol.name}: an MTU of {mtu} less {protocol.in_mtu} bytes of headers leaves "
            f"{room} for the message; both must be positive (usual MTUs: 1500 and 9000 for TCP, else 1024 and 4096)"
        )
    return max(1, -(-nbytes // room))  # rounded up


def wire_bytes(protocol: Protocol, nbytes: int, mtu: int) -> int:
    """Bytes on the wire for one message, gaps included; over InfiniBand and RoCE v2 as an RDMA write.

    `first` is then the RETH, which says where in the other's memory the message goes.
    """
    padded = -(-nbytes // protocol.multiple) * protocol.multiple
    return padded + packets(protocol, nbytes, mtu) * protocol.overhead + protocol.first


def goodput(protocol: Protocol, payload: int, mtu: int, line_rate: float) -> float:
    """Bytes of payload per second, in the unit of `line_rate`, when messages of `payload` bytes follow each other."""
    return line_rate * payload / wire_bytes(protocol, payload, mtu)


def path_mtu(ethernet_mtu: int) -> int:
    """The payload of a RoCE packet on an Ethernet of this MTU, as Linux chooses: 1500 gives 1024, 9000 gives 4096."""
    fits = [size for size in PATH_MTUS if size <= ethernet_mtu - ROCE_RESERVE]
    if not fits:
        raise ValueError(f"RoCE needs an Ethernet MTU of at least {PATH_MTUS[-1] + ROCE_RESERVE}, got {ethernet_mtu}")
    return fits[0]


def host_seconds(
    nbytes: int,
    copies: int,
    copy_bandwidth: float,
    handled: int = 0,
    per_packet: float = 0.0,
    per_message: float = 0.0,
) -> float:
    """Seconds for which the processor at one end is busy with one message (per byte, per packet, per message).

    copies          how often it copies each byte: 1 with plain sockets, 0 with RDMA
    copy_bandwidth  bytes/s at which it copies: measure it with `copy_bandwidth()`
    handled         packets that it handles itself: 0 with RDMA; with sockets fewer than on the wire if the card splits
                    and joins them (TSO, GRO: up to 64 KiB at a time)
    per_packet      seconds for each of those; per_message: for a call into the kernel, or for posting a request

    No defaults for hardware: they differ too much. nbytes / host_seconds bounds what one core can feed to a link.
    """
    if min(nbytes, copies, handled) < 0 or min(per_packet, per_message) < 0 or copy_bandwidth <= 0:
        raise ValueError(
            f"counts and times must be >= 0 and copy_bandwidth > 0, got {copies=}, {copy_bandwidth=}, "
            f"{nbytes=}, {handled=}, {per_packet=}, {per_message=}"
        )
    return copies * nbytes / copy_bandwidth + handled * per_packet + per_message


def copy_bandwidth(nbytes: int = 2**26, repeat: int = 5) -> float:
    """Bytes/s at which one core of this machine copies; the best of some tries, too large for the caches (64 MiB)."""
    source, copy = np.ones(nbytes, np.uint8), np.ones(nbytes, np.uint8)
    seconds = []
    for _ in range(repeat):
        start = perf_counter()
        np.copyto(copy, source)
        seconds.append(perf_counter() - start)
    return nbytes / min(seconds)
