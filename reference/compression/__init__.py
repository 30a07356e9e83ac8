"""Gradient compression: fewer bytes for another, still useful, gradient."""

from .codec import Codec, codec, damped, roundtrip
from .quantize import (
    bf16,
    fp16,
    int8,
    logarithmic,
    one_bit,
    qsgd,
    scaled_sign,
    stochastic_rounding,
    terngrad,
    two_level,
)
from .sparse import history, importance_sampling, random_k, sparse_sign, strom, threshold, top_k

__all__ = [
    "Codec",
    "bf16",
    "codec",
    "damped",
    "fp16",
    "history",
    "importance_sampling",
    "int8",
    "logarithmic",
    "one_bit",
    "qsgd",
    "random_k",
    "roundtrip",
    "scaled_sign",
    "sparse_sign",
    "stochastic_rounding",
    "strom",
    "terngrad",
    "threshold",
    "top_k",
    "two_level",
]
