"""Gradient compression: fewer bytes for another, still useful, gradient.

    codec = top_k(0.01)
    wire = codec.encode(g, generator)  # what travels: 1-D uint8, all of it
    error = ErrorFeedback(codec, len(g))  # encodes g plus what earlier wires left out

A codec (codec.py) is a few lines in sparse.py, sparse_signs.py, importance.py, quantize.py, signs.py or
short_floats.py, with formulas for its bytes, bias, variance and contraction, and below it the record of all else that
is known of it; catalogue.py has them by name. error_feedback.py and dgc.py mend what codecs do to training; reduce.py,
sparse_allreduce.py and powersgd.py sum compressed gradients over ranks, hooks.py inside a Replica. step_time.py,
schedules.py, select.py and adaptive.py ask whether it pays, and when; study.py measures all codecs.
"""

from .catalogue import CODECS
from .codec import Codec, CodecRecord, codec, damped, float32, roundtrip
from .error_feedback import ErrorFeedback, residual_bound
from .importance import history, importance_sampling
from .quantize import int8, qsgd, qsgd_elias, stochastic_rounding, terngrad
from .short_floats import bf16, fp16, logarithmic, scaled_fp16
from .signs import one_bit, scaled_sign, stochastic_sign
from .sparse import random_k, seeded_random_k, threshold, top_k
from .sparse_signs import sparse_sign, strom

__all__ = [
    "CODECS",
    "Codec",
    "CodecRecord",
    "ErrorFeedback",
    "bf16",
    "codec",
    "damped",
    "float32",
    "fp16",
    "history",
    "importance_sampling",
    "int8",
    "logarithmic",
    "one_bit",
    "qsgd",
    "qsgd_elias",
    "random_k",
    "residual_bound",
    "roundtrip",
    "scaled_fp16",
    "scaled_sign",
    "seeded_random_k",
    "sparse_sign",
    "stochastic_rounding",
    "strom",
    "terngrad",
    "threshold",
    "top_k",
    "stochastic_sign",
]
