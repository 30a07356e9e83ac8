"""CRC-32 of bytes: by Intel's ISA-L if its package `isal` is installed, else by zlib. Both find the same number.

Idea      zlib looks each byte up in tables. ISA-L multiplies polynomials 16 bytes at a time with an instruction that
          processors have for that (PCLMULQDQ; PMULL on Arm). Where files come from memory or from a quick drive, the
          checksum is what a read waits for.
Source    Gopal et al., "Fast CRC Computation for Generic Polynomials Using PCLMULQDQ Instruction" (Intel, 2009).
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

crc32: Callable[..., int] = zlib.crc32
"""crc32(bytes): the checksum, of 32 bits."""
try:
    from isal import isal_zlib

    crc32 = isal_zlib.crc32
except ImportError:
    pass
