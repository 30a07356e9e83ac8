"""All codecs by name: what can be chosen, studied and compared. Command lines, tests and the book go through it."""

from __future__ import annotations

from ..registry import Registry
from .codec import FLOAT32, CodecRecord
from .importance import IMPORTANCE
from .quantize import INT8, QSGD, QSGD_ELIAS, STOCHASTIC_ROUNDING, TERNGRAD
from .short_floats import BF16, FP16, LOGARITHMIC, SCALED_FP16
from .signs import ONE_BIT, SCALED_SIGN, SIGN, STOCHASTIC_SIGN
from .sparse import RANDOM_K, SEEDED_RANDOM_K, THRESHOLD, TOP_K
from .sparse_signs import SPARSE_SIGN, STROM

CODECS: Registry[CodecRecord] = Registry(
    "codec",
    [
        FLOAT32,
        TOP_K,
        RANDOM_K,
        SEEDED_RANDOM_K,
        IMPORTANCE,
        THRESHOLD,
        STROM,
        SPARSE_SIGN,
        QSGD,
        QSGD_ELIAS,
        TERNGRAD,
        STOCHASTIC_ROUNDING,
        LOGARITHMIC,
        STOCHASTIC_SIGN,
        SCALED_SIGN,
        ONE_BIT,
        SIGN,
        INT8,
        FP16,
        SCALED_FP16,
        BF16,
    ],
)
