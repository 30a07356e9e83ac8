"""What tests of the house read: the project's own files."""

import subprocess
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
MADE = {".git", ".venv", ".openmpi", "build", "_build", "__pycache__", ".ipynb_checkpoints", "node_modules"}


def text_files() -> list[Path]:
    """Return what git tracks or would track; without git, everything that is not made by make."""
    listing = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    git = subprocess.run(listing, cwd=ROOT, capture_output=True, text=True)
    names = git.stdout.split("\0") if git.returncode == 0 and git.stdout else map(str, ROOT.rglob("*"))
    paths = [ROOT / name for name in names if name]
    return [path for path in paths if path.is_file() and not MADE & set(path.relative_to(ROOT).parts)]


FILES = text_files()
