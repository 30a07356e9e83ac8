"""The head of a safetensors file: names, types, shapes and places of tensors, as JSON, in front of their bytes.

Idea      A file is 8 bytes with the length of the head, the head, and the tensors' bytes, row by row, one behind the
          other. There is nothing to execute in it, and any range of bytes can be written or read by itself.

              | 8: length n, little endian | n: {"w": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}} | 24 |

          What a rank has is a box of a tensor, and the format has no place to say so. torch.distributed.checkpoint
          writes the offsets of the boxes into the head's metadata, as text; these heads do so, too, so that torch reads
          such a file as one of its own (dcp.py).
Exact     Larger elements come first, so that each tensor begins at a multiple of its elements' size.
Source    The format: huggingface/safetensors, README (version 0.8). The offsets: torch/distributed/checkpoint/
          filesystem.py and _hf_utils.py (PyTorch 2.13).
"""

from __future__ import annotations

import json
import struct
from collections.abc import Mapping
from typing import Any, NamedTuple

import torch

from .boxes import Box, Shape

DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "F8_E4M3": torch.float8_e4m3fn,
    "F8_E5M2": torch.float8_e5m2,
    "C64": torch.complex64,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
NAMES = {dtype: name for name, dtype in DTYPES.items()}
OFFSETS = "DCP_SHARDING_INFO"  # torch's key of the boxes' offsets
FIRST = struct.Struct("<Q")
LONGEST = 100_000_000  # bytes of a head: the limit of the format


class InFile(NamedTuple):
    """A tensor of a file: its type, its shape, its first byte and the one after its last, from the head's end."""

    dtype: str
    shape: Shape
    begin: int
    end: int


def nbytes(dtype: str, shape: Shape) -> int:
    """Of a tensor."""
    size = DTYPES[dtype].itemsize
    for n in shape:
        size *= n
    return size


def make_head(tensors: Mapping[str, tuple[str, Box]], metadata: Mapping[str, str]) -> tuple[bytes, dict[str, int]]:
    """(the head with its length, name -> the first byte in the file) of boxes by name: (type, box) each.

    The order of the bytes is that of `in_order`.
    """
    offsets = {name: {"saved_offsets": box.offset} for name, (_, box) in tensors.items()}
    words = {**metadata, OFFSETS: json.dumps(offsets), "DCP_VERSION": "1.0", "format": "pt"}
    head: dict[str, Any] = {"__metadata__": words}
    end = 0
    for name in in_order(tensors):
        dtype, box = tensors[name]
        begin, end = end, end + nbytes(dtype, box.shape)
        head[name] = {"dtype": dtype, "shape": box.shape, "data_offsets": [begin, end]}
    text = json.dumps(head, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    first = FIRST.size + len(text)
    return FIRST.pack(len(text)) + text, {name: first + head[name]["data_offsets"][0] for name in tensors}


def in_order(tensors: Mapping[str, tuple[str, Box]]) -> list[str]:
    """The names, in the order of their bytes: larger elements first, so that all are aligned."""
    return sorted(tensors, key=lambda name: (-DTYPES[tensors[name][0]].itemsize, name))


def parse_head(text: bytes) -> tuple[dict[str, InFile], dict[str, str]]:
    """(tensors by name, metadata) of a head, without its length. Raises ValueError for anything else."""
    try:
        found = json.loads(text)
        metadata = found.pop("__metadata__", {})
        tensors = {
            name: InFile(of["dtype"], tuple(of["shape"]), *map(int, of["data_offsets"])) for name, of in found.items()
        }
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ValueError("is not a safetensors file: its head is damaged") from None
    if unknown := {of.dtype for of in tensors.values()} - set(DTYPES):
        raise ValueError(f"has elements of a type that cannot be read here: {', '.join(sorted(unknown))}")
    return tensors, metadata
