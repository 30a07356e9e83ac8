"""An object store over HTTP: a client that checks and tries again, and a small server that can be slow and can fail.

Idea      An object store answers PUT, GET and DELETE of whole objects by key. It is far away, so a request takes long
          whatever its size; it is shared, so it sometimes says "503 Slow Down"; and what travels through networks can
          be cut off. The client sends a CRC-32 with each object. The server refuses what does not fit to it, and sends
          it back with the object; the client compares again. What failed is tried again, after a wait that doubles:

              PUT a -> 503    wait w    PUT a -> connection lost    wait 2 w    PUT a -> 200

Exact     A PUT is all or nothing: the server knows from Content-Length how many bytes there must be, and forgets a
          request that ends before. So a client that is killed in a write leaves the old object.
Left out  Signatures, listing, objects in parts, connections that are kept: a client of a real store does all that.
Source    RFC 9110 (HTTP semantics), sections 8.6 and 9.3; Amazon S3 User Guide, "Optimizing performance": retries.
"""

from __future__ import annotations

import errno
import http.client
import threading
import time
import zlib
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

import numpy as np
from torch import Tensor

from .blocks import TierError, as_bytes

CRC = "X-Crc32"
FAULTS = ("busy", "drop", "cut", "flip", "hang")


class StoreFault(NamedTuple):
    """What goes wrong with the next `times` requests of this method.

    kind: busy (answers 503), drop (closes the connection), cut (sends half of an object), flip (changes one bit of an
    object on its way), hang (answers after `StoreServer.patience` seconds).
    """

    method: str
    kind: str
    times: int = 1


class StoreServer:
    """An object store on this machine: `with StoreServer() as server: HttpStorage(server.url)`.

    latency    seconds before each answer
    rate       bytes/s of one connection; None: as fast as it goes
    patience   seconds for which a request that hangs is kept waiting

    server.objects: what it holds, by key, with checksums. server.fail(StoreFault(...)) makes requests go wrong.
    server.requests: how many there were. server.close() ends it, and the objects are gone.
    """

    def __init__(self, latency: float = 0.0, rate: float | None = None, patience: float = 1.0):
        self.latency, self.rate, self.patience = latency, rate, patience
        self.objects: dict[str, tuple[bytes, str]] = {}
        self.requests = 0
        self._faults: list[StoreFault] = []
        self._lock = threading.Lock()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}"

    def __enter__(self) -> StoreServer:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def fail(self, fault: StoreFault) -> None:
        """Have the next requests go wrong. Raises ValueError for a kind that is not in FAULTS."""
        if fault.kind not in FAULTS:
            raise ValueError(f"a fault is one of {', '.join(FAULTS)}, got {fault.kind!r}")
        with self._lock:
            self._faults += [fault._replace(times=1)] * fault.times

    def fault(self, method: str) -> str:
        """What goes wrong with a request that has arrived; "" for nothing."""
        with self._lock:
            self.requests += 1
            found = next((fault for fault in self._faults if fault.method == method), None)
            if found:
                self._faults.remove(found)
            return found.kind if found else ""

    def close(self) -> None:
        """End the server."""
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


def _handler(store: StoreServer) -> type[BaseHTTPRequestHandler]:
    """What answers the requests to this server."""

    class Handler(BaseHTTPRequestHandler):
        def do_PUT(self) -> None:
            kind, wanted = store.fault("PUT"), int(self.headers["Content-Length"])
            data = self.rfile.read(wanted)
            if len(data) < wanted or not self._fine(kind):  # the client is gone: what was there stays
                return
            crc = self.headers[CRC]
            if f"{zlib.crc32(_harmed(data, kind)):08x}" != crc:
                return self._answer(400)
            store.objects[self.path] = data, crc
            self._answer(200)

        def do_GET(self) -> None:
            kind = store.fault("GET")
            if not self._fine(kind):
                return
            if self.path not in store.objects:
                return self._answer(404)
            data, crc = store.objects[self.path]
            self._answer(200, _harmed(data, kind), len(data), crc)

        def do_DELETE(self) -> None:
            store.objects.pop(self.path, None)
            self._answer(200)

        def _fine(self, kind: str) -> bool:
            """Whether the request is to be answered; else it has been dealt with as this fault wants."""
            if kind == "busy":
                self._answer(503)
            if kind == "hang":
                time.sleep(store.patience)
            self.close_connection = True
            return kind not in ("busy", "drop", "hang")

        def _answer(self, status: int, data: bytes = b"", length: int | None = None, crc: str = "") -> None:
            time.sleep(store.latency + (len(data) / store.rate if store.rate else 0))
            self.send_response(status)
            self.send_header("Content-Length", str(len(data) if length is None else length))
            self.send_header(CRC, crc)
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    return Handler


def _harmed(data: bytes, kind: str) -> bytes:
    """What arrives of an object with this fault."""
    if kind == "flip":
        return bytes([data[0] ^ 1]) + data[1:]
    return data[: len(data) // 2] if kind == "cut" else data


class HttpStorage:
    """A ByteStorage in an object store: PUT, GET and DELETE of `url`/`folder`/name.

    timeout    seconds to wait for an answer
    attempts   how often a request is tried
    wait       seconds before the second attempt; they double with each

    storage.retries: how many attempts have failed so far.
    """

    def __init__(
        self, url: str, folder: str = "tier", timeout: float = 10.0, attempts: int = 4, wait: float = 0.05
    ) -> None:
        self.url, self.folder = urlsplit(url), folder
        self.timeout, self.attempts, self.wait = timeout, attempts, wait
        self.retries = 0

    def write(self, name: str, tensor: Tensor) -> None:
        """Put it, with its checksum."""
        data = as_bytes(tensor).data
        self._try(name, "written", lambda: self._request("PUT", name, data, {CRC: f"{zlib.crc32(data):08x}"}))

    def read(self, name: str, target: Tensor) -> None:
        """Get it, and check it."""

        def get() -> None:
            data, crc = self._request("GET", name)
            if len(data) != target.nbytes:
                raise TierError(errno.EIO, f"it has {len(data):,} bytes where {target.nbytes:,} are wanted")
            if (found := f"{zlib.crc32(data):08x}") != crc:
                raise TierError(errno.EIO, f"what came has the checksum {found} where {crc} was written")
            as_bytes(target)[:] = np.frombuffer(data, np.uint8)

        self._try(name, "read", get)

    def delete(self, name: str) -> None:
        """Delete it; a store that does not answer keeps it."""
        try:
            self._request("DELETE", name)
        except (OSError, http.client.HTTPException):
            pass

    def _try(self, name: str, what: str, request: Callable[[], Any]) -> None:
        """Do it, again if it fails. Raises TierError, with what the last attempt met."""
        number, said = errno.EIO, ""
        for attempt in range(self.attempts):
            if attempt:
                self.retries += 1
                time.sleep(self.wait * 2 ** (attempt - 1))
            try:
                request()
                return
            except (OSError, http.client.HTTPException) as error:  # which is not kept: its frames hold the tensor
                number = getattr(error, "errno", None) or errno.EIO
                said = getattr(error, "strerror", None) or str(error) or type(error).__name__
            if number == errno.ENOENT:
                break  # it will not be there next time
        raise TierError(
            number, f"{name} cannot be {what}: {self.url.netloc} failed {attempt + 1} times, at last: {said}"
        )

    def _request(self, method: str, name: str, data: Any = None, headers: dict[str, str] | None = None):
        """One request: the object and its checksum. Raises TierError for any status but 200."""
        connection = http.client.HTTPConnection(self.url.netloc, timeout=self.timeout)
        try:
            connection.request(method, f"/{quote(self.folder)}/{quote(name, safe='')}", data, headers or {})
            answer = connection.getresponse()
            body = answer.read()
        finally:
            connection.close()
        if answer.status != 200:
            number = errno.ENOENT if answer.status == 404 else errno.EIO
            raise TierError(number, f"{answer.status} {answer.reason}")
        return body, answer.getheader(CRC)
