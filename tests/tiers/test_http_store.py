"""An object store that is busy, cuts off, flips bits, hangs, or is gone: tried again, or an error, and never wrong."""

import socket
import time

import pytest
import torch

from reference.tiers.blocks import TierError
from reference.tiers.http_store import FAULTS, HttpStorage, StoreFault, StoreServer


@pytest.fixture
def server():
    with StoreServer(patience=0.3) as made:
        yield made


@pytest.mark.parametrize("kind", FAULTS)
@pytest.mark.parametrize("method", ["PUT", "GET"])
def test_what_fails_is_tried_again_and_in_the_end_is_an_error(server, kind, method):
    store = HttpStorage(server.url, timeout=0.1 if kind == "hang" else 10, attempts=2, wait=0.001)
    value, target = torch.arange(500.0), torch.zeros(500)
    server.fail(StoreFault(method, kind))
    store.write("a", value)
    store.read("a", target)
    assert torch.equal(target, value) and store.retries == 1 and server.requests == 3
    server.fail(StoreFault(method, kind, times=2))
    with pytest.raises(TierError, match=r"a cannot be (written|read): 127.0.0.1:\d+ failed 2 times, at last: \S+"):
        store.write("a", -value)
        store.read("a", target)
    store.read("a", target)
    assert torch.equal(target, value if method == "PUT" else -value)


def test_a_client_that_is_killed_in_a_write_leaves_the_old_object(server):
    store = HttpStorage(server.url)
    store.write("a", torch.arange(500.0))
    with socket.create_connection(("127.0.0.1", int(server.url.rpartition(":")[2]))) as raw:
        raw.sendall(b"PUT /tier/a HTTP/1.1\r\nContent-Length: 2000\r\nX-Crc32: 00000000\r\n\r\n" + b"x" * 700)
    until = time.time() + 5
    while server.requests < 2 and time.time() < until:
        time.sleep(0.01)
    store.read("a", target := torch.zeros(500))
    assert torch.equal(target, torch.arange(500.0)) and server.requests == 3


def test_a_store_that_is_gone_and_one_that_is_slow(server):
    store = HttpStorage(server.url, attempts=3, wait=0.001)
    store.write("a", torch.ones(250_000))
    server.latency, server.rate = 0.05, 1e7
    start = time.perf_counter()
    store.read("a", target := torch.zeros(250_000))
    assert time.perf_counter() - start >= 0.05 + 0.1 and target.sum() == 250_000
    server.close()
    with pytest.raises(TierError, match="failed 3 times, at last: Connection refused"):
        store.read("a", target)
    store.delete("a")


def test_bad_faults(server):
    with pytest.raises(ValueError, match="busy, drop, cut, flip, hang, got 'late'"):
        server.fail(StoreFault("GET", "late"))
