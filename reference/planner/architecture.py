"""Models as data: the sizes of a transformer, its parameters and its FLOPs.

Idea      Everything that a step costs follows from a few sizes: layers L, width h, a heads and g of keys and values,
          the width f inside the feed-forward network, the vocabulary V and the length s of a sequence.
Exact     Parameters are those of the matrices and of the scales of norms. For Llama 3.1 8B these are all, to the last
          one. Biases and a table of positions are left out: in GPT-3 they are less than 0.1 %.
          `flops_a_token` is the model's own arithmetic, 6 for each weight of a matrix and 12 L h s for attention, with
          the whole square of scores: so count PaLM, Megatron-LM and most tables. Nothing is counted twice that is
          computed twice.
Try       a model of your own: five lines in data/architectures.toml, or in a file of yours.
"""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.resources import files
from typing import NamedTuple


class Architecture(NamedTuple):
    """The sizes of a transformer; see above for the letters.

    gated: the feed-forward network has three matrices, not two. tied: the head is the embedding. dropout: its masks
    are kept for the backward pass.
    """

    name: str
    layers: int
    width: int
    heads: int
    kv_heads: int
    feed_forward: int
    vocabulary: int
    length: int
    gated: bool = False
    tied: bool = False
    source: str = ""
    dropout: bool = False

    @property
    def kv_width(self) -> int:
        """The width of all keys of a token, and of all values."""
        return self.width * self.kv_heads // self.heads

    @property
    def layer_matrices(self) -> int:
        """Weights of the matrices of a layer: queries and output, keys and values, the feed-forward network."""
        return sum(self.matrices)

    @property
    def matrices(self) -> tuple[int, ...]:
        """Weights of each matrix of a layer in the order of the forward pass: q, k, v, output, (gate,) up, down."""
        square, keys, wide = self.width**2, self.width * self.kv_width, self.width * self.feed_forward
        return (square, keys, keys, square) + (wide,) * (3 if self.gated else 2)

    @property
    def layer_parameters(self) -> int:
        """Parameters of a layer: the matrices and the scales of two norms."""
        return self.layer_matrices + 2 * self.width

    @property
    def embedding(self) -> int:
        """Parameters of the embedding, and of the head, if it is not the same."""
        return self.vocabulary * self.width

    def parameters(self) -> int:
        """All parameters of the model."""
        ends = self.embedding * (1 if self.tied else 2) + self.width
        return self.layers * self.layer_parameters + ends

    def flops_a_token(self, length: int | None = None) -> float:
        """FLOPs of the model for a token, forward and backward: 6 (matrices + head) + 12 L h s."""
        weights = self.layers * self.layer_matrices + self.embedding
        return 6 * weights + 12 * self.layers * self.width * (length or self.length)


def read_architectures(text: str) -> dict[str, Architecture]:
    """The models in a text like data/architectures.toml, by name. Raises ValueError for sizes that cannot be."""
    found = {}
    for name, sizes in tomllib.loads(text).items():
        given = {"kv_heads": sizes.get("heads"), "feed_forward": 4 * sizes.get("width", 0)} | sizes
        try:
            found[name] = Architecture(name, **given)
        except TypeError as error:
            raise ValueError(f"model {name!r}: {error}; it needs {', '.join(Architecture._fields[1:8])}") from None
        _check(found[name])
    return found


def _check(model: Architecture) -> None:
    for field in Architecture._fields[1:8]:
        if not isinstance(value := getattr(model, field), int) or value < 1:
            raise ValueError(f"model {model.name!r}: {field} is a whole number from 1 on, got {value!r}")
    if model.width % model.heads or model.heads % model.kv_heads:
        raise ValueError(
            f"model {model.name!r}: {model.heads} heads must divide the width {model.width}, and be a multiple of "
            f"the {model.kv_heads} heads of keys and values"
        )


@cache
def architectures() -> dict[str, Architecture]:
    """All models of data/architectures.toml, by name."""
    return read_architectures((files(__package__) / "data" / "architectures.toml").read_text())


def architecture(name: str) -> Architecture:
    """The model of this name. Raises ValueError, with all names, if there is none."""
    known = architectures()
    if name.lower() not in known:
        raise ValueError(f"no model is called {name!r}; there are: {', '.join(known)}")
    return known[name.lower()]
