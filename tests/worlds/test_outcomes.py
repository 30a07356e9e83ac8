"""What faulthandler wrote is read as it was meant, whatever letters a folder has."""

import subprocess
import sys

from reference.worlds.outcomes import dumped_frames

PROGRAM = "import faulthandler\n\ndef größe():\n    faulthandler.dump_traceback()\n\ngröße()\n"


def test_names_beyond_ascii_are_read_back(tmp_path):
    """faulthandler writes them by their numbers, and a frame of ours would be no frame of ours."""
    folder = tmp_path / "Jeder Rang zählt ł 😀"
    folder.mkdir()
    file = folder / "program.py"
    file.write_text(PROGRAM, encoding="utf-8")
    said = subprocess.run([sys.executable, str(file)], capture_output=True, text=True, check=True).stderr
    assert str(file) not in said
    assert dumped_frames(said) == [(str(file), 6, "<module>"), (str(file), 4, "größe")]
