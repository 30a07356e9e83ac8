"""Figures of notebooks are stored at twice the pixels, in the colours of a palette; others are drawn anew."""

import base64
import io
import json

import nbformat
import numpy as np
import pytest
from PIL import Image

from .files import ROOT

TWICE = 1_000  # pixels at least, of a figure that a page shows 850 wide and a phone of thrice the pixels 360


def stored(picture: Image.Image) -> str:
    file = io.BytesIO()
    picture.save(file, "PNG")
    return base64.b64encode(file.getvalue()).decode()


def cell_with(png: str, printed: str = "1 2 3\n"):
    out = nbformat.v4.new_output("display_data", {"image/png": png, "text/plain": "<Figure>"})
    words = [nbformat.v4.new_output("stream", text=printed)] if printed else []
    return nbformat.v4.new_code_cell("plot()", outputs=[*words, out])


@pytest.fixture
def drawing():
    """A blue line with soft edges on paper that is transparent, 200 pixels wide."""
    pixels = np.zeros((100, 200, 4), np.uint8)
    pixels[40:60] = (0, 114, 178, 255)
    pixels[38:40, :, :3] = pixels[60:62, :, :3] = (0, 114, 178)
    pixels[38:40, :, 3] = pixels[60:62, :, 3] = np.arange(200)
    return Image.fromarray(pixels)


def test_a_picture_keeps_its_pixels_and_colours_on_white_paper(ci, drawing):
    png = ci("figures").as_stored(stored(drawing))
    found = ci("figures").read(png)
    assert (found.mode, found.size) == ("P", drawing.size)
    colours = found.convert("RGB")
    assert colours.getpixel((0, 0)) == (255, 255, 255)
    assert colours.getpixel((100, 50)) == (0, 114, 178)
    paper = Image.alpha_composite(Image.new("RGBA", drawing.size, "white"), drawing).convert("RGB")
    assert np.abs(np.asarray(colours, int) - np.asarray(paper, int)).max() <= 8


def test_a_picture_is_stored_the_same_each_time(ci, drawing):
    once = ci("figures").as_stored(stored(drawing))
    assert ci("figures").as_stored(stored(drawing)) == once
    assert ci("figures").as_stored(once) == once


def test_a_picture_in_another_form_is_drawn_anew_although_its_cell_prints_the_same(ci, drawing):
    before, new = cell_with(stored(drawing)), cell_with(stored(drawing))
    assert not ci("notebooks").is_kept(new, before)
    ci("figures").store(before)
    assert ci("notebooks").is_kept(new, before)


def test_a_picture_beside_which_nothing_is_printed_is_always_the_new_one(ci, drawing):
    before, new = cell_with(stored(drawing), ""), cell_with(stored(drawing), "")
    ci("figures").store(before)
    assert not ci("notebooks").is_kept(new, before)


def test_figures_have_twice_the_pixels_and_the_width_of_the_page():
    for path in sorted((ROOT / "chapters").glob("*.ipynb")):
        for number, cell in enumerate(json.loads(path.read_text())["cells"]):
            for out in cell.get("outputs", []):
                if "image/png" in out.get("data", {}):
                    where = f"{path.name}, cell {number}: run `make notebooks`"
                    picture = Image.open(io.BytesIO(base64.b64decode("".join(out["data"]["image/png"]))))
                    assert picture.mode == "P", where
                    assert picture.width > TWICE and not out["metadata"], where
                    assert cell["metadata"]["mystnb"]["image"]["width"] == "100%", where
