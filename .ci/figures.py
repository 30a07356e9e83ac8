"""How a figure is stored in a notebook: at twice the pixels (chapters.kernels), in few colours.

A figure has lines, areas and letters in some ten colours, and the shades at their edges. A palette of 128 shows all of
that, and twice the pixels take less room with it than the single ones in millions of colours took.
"""

from __future__ import annotations

import base64
import io

from PIL import Image

COLOURS, PASSES = 128, 2  # of the palette; of k-means, which moves its colours to where pixels are
PALETTE_MODE = "P"


def pictures(cell) -> list[dict]:
    """Return those outputs of a cell that have a PNG."""
    return [out for out in cell.get("outputs", []) if "image/png" in out.get("data", {})]


def read(png: str) -> Image.Image:
    """Return the picture of an output, which is base64 in lines."""
    return Image.open(io.BytesIO(base64.b64decode(png)))


def as_stored(png: str) -> str:
    """Return a PNG (base64) on white and with a palette; one that has a palette stays as it is."""
    picture = read(png)
    if picture.mode == PALETTE_MODE:
        return png
    paper = Image.new("RGBA", picture.size, "white")
    flat = Image.alpha_composite(paper, picture.convert("RGBA")).convert("RGB")
    few = flat.quantize(COLOURS, Image.Quantize.MEDIANCUT, kmeans=PASSES, dither=Image.Dither.NONE)
    file = io.BytesIO()
    few.save(file, "PNG", optimize=True)
    return base64.b64encode(file.getvalue()).decode()


def store(cell) -> None:
    """Put the pictures of a cell into the form in which they are stored.

    They have no size of their own, which a page would keep on a phone: they are as wide as the cell's metadata says.
    """
    for out in pictures(cell):
        out["data"]["image/png"] = as_stored(out["data"]["image/png"])
        out["metadata"] = {}


def stored_so(cell) -> bool:
    """Whether all pictures of a cell have this form."""
    return all(not out["metadata"] and read(out["data"]["image/png"]).mode == PALETTE_MODE for out in pictures(cell))
