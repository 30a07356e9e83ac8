"""CRC-32 of bytes: by Intel's ISA-L if its package `isal` is installed, else by zlib. Both find the same number.

Idea      zlib looks each byte up in tables. ISA-L multiplies polynomials 16 bytes at a time with an instruction that
          processors have for that (PCLMULQDQ; PMULL on Arm). Where files come from memory or from a quick drive, the
          checksum is what a read waits for.
Source    Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009).
"""

from __future__ import annotations

from typing import Any

try:
    from isal.isal_zlib import crc32 as _crc32
except ImportError:
    from zlib import crc32 as _crc32


def crc32(data: Any) -> int:
    """The checksum of these bytes (bytes, or memory in one piece): an int of 32 bits."""
    return _crc32(data)
