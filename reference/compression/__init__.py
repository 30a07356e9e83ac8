"""Gradient compression: fewer bytes for another, still useful, gradient.

    codec = top_k(0.01)
    wire = codec.encode(g, generator)  # what travels: 1-D uint8, all of it
    error = ErrorFeedback(codec, len(g))  # encodes g plus what earlier wires left out

A codec (codec.py) is a few lines in sparse.py, quantize.py or short_floats.py, with formulas for its bytes, bias,
variance and contraction. error_feedback.py and dgc.py mend what they do to training; reduce.py, sparse_allreduce.py and
powersgd.py sum compressed gradients over ranks, hooks.py inside a Replica. step_time.py, schedules.py, select.py and
adaptive.py ask whether it pays, and when; study.py measures all codecs.
"""

from .codec import Codec, codec, damped, float32, roundtrip
from .error_feedback import ErrorFeedback, residual_bound
from .importance import history, importance_sampling
from .quantize import int8, one_bit, qsgd, qsgd_elias, scaled_sign, stochastic_rounding, stochastic_sign, terngrad
from .short_floats import bf16, fp16, logarithmic, scaled_fp16
from .sparse import random_k, seeded_random_k, sparse_sign, strom, threshold, top_k

__all__ = [
    "Codec",
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
