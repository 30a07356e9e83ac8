"""What keeps bytes below: they come back as they were, or an error says why not."""

import errno
import os
import signal

import pytest
import torch

from reference.tiers.blocks import BLOCK, TierError
from reference.tiers.http_store import HttpStorage, StoreServer
from reference.tiers.storages import FolderStorage, HostStorage, has_direct_io

KINDS = ("host", "folder", "http")
SMALL = 2 * BLOCK


@pytest.fixture(params=KINDS)
def storage(request, tmp_path):
    """One of each kind; `storage.harm(name)` flips a bit of what it keeps."""
    with StoreServer() as server:
        made = {
            "host": HostStorage,
            "folder": lambda: FolderStorage(tmp_path, chunk=SMALL),
            "http": lambda: HttpStorage(server.url, wait=0.001),
        }[request.param]()

        def harm(name):
            if request.param == "host":
                made.copies[name].data.view(torch.uint8)[3] ^= 1
            elif request.param == "folder":
                data = bytearray(made.path(name).read_bytes())
                data[BLOCK + 3] ^= 1
                made.path(name).write_bytes(data)
            else:
                data, crc = server.objects[f"/tier/{name}"]
                server.objects[f"/tier/{name}"] = bytes([data[0] ^ 1]) + data[1:], crc

        made.harm = harm
        yield made


def test_what_is_read_is_what_was_written_last(storage):
    for tensor in (torch.arange(5000.0), torch.arange(7, dtype=torch.int64), torch.ones(3, 4).bfloat16()):
        for value in (tensor, tensor + 1):
            storage.write("a/b %", value)
        storage.read("a/b %", target := torch.zeros_like(tensor))
        assert torch.equal(target, tensor + 1)


def test_damage_is_an_error_and_so_is_what_is_not_there(storage):
    storage.write("a", torch.arange(5000.0))
    storage.harm("a")
    with pytest.raises(TierError, match=r"checksum (is )?[0-9a-f]{8} where [0-9a-f]{8} was written"):
        storage.read("a", torch.zeros(5000))
    with pytest.raises(TierError, match=r"4,000|24,576"):
        storage.read("a", torch.zeros(1000))
    storage.delete("a")
    storage.delete("a")
    with pytest.raises(TierError, match=r"a .*cannot be read") as told:
        storage.read("a", torch.zeros(5000))
    assert told.value.errno == errno.ENOENT


def test_a_host_that_is_full_says_how_many_bytes_it_lacks():
    host = HostStorage(capacity=1000)
    host.write("a", torch.ones(200))
    host.write("a", torch.ones(250))
    with pytest.raises(TierError, match="the host's part of 1,000 bytes lacks 40"):
        host.write("b", torch.ones(10))


def test_direct_where_the_file_system_has_it(tmp_path, monkeypatch):
    assert FolderStorage(tmp_path).direct == has_direct_io(tmp_path)
    real = os.open

    def no_direct(path, flags, *rest):
        if flags & getattr(os, "O_DIRECT", 0):
            raise OSError(errno.EINVAL, os.strerror(errno.EINVAL))
        return real(path, flags, *rest)

    monkeypatch.setattr(os, "open", no_direct)
    buffered = FolderStorage(tmp_path)
    buffered.write("a", torch.arange(9.0))
    buffered.read("a", target := torch.zeros(9))
    assert not buffered.direct and target[8] == 8 and os.listdir(tmp_path) == ["a"]


def test_a_program_that_is_killed_in_a_write_leaves_the_old_file_and_nothing_else(tmp_path):
    FolderStorage(tmp_path, chunk=SMALL).write("a", torch.arange(5000.0))
    if (child := os.fork()) == 0:
        written = []

        def pwrite(file, data, offset):
            written.append(offset)
            return os.pwrite(file, data, offset) if len(written) < 2 else os.kill(os.getpid(), signal.SIGKILL)

        FolderStorage(tmp_path, chunk=SMALL, pwrite=pwrite).write("a", -torch.arange(5000.0))
        os._exit(1)
    assert os.waitpid(child, 0)[1] == signal.SIGKILL
    assert sorted(os.listdir(tmp_path)) == ["a", "a.partial"]
    FolderStorage(tmp_path, chunk=SMALL).read("a", target := torch.zeros(5000))
    assert torch.equal(target, torch.arange(5000.0)) and os.listdir(tmp_path) == ["a"]


def test_a_folder_that_vanishes(tmp_path):
    folder = FolderStorage(tmp_path / "drive")
    folder.write("a", torch.ones(9))
    os.rename(tmp_path / "drive", tmp_path / "gone")
    for move in (folder.write, folder.read):
        with pytest.raises(TierError, match="cannot be"):
            move("a", torch.ones(9))
    folder.delete("a")
