"""Floating-point numbers as integer codes: NaN, infinity and extremes from two integer maxima, without temporaries.

Within one sign the codes of IEEE numbers order like their magnitudes. So of the codes read as signed integers the
largest is the largest positive value, and read as unsigned integers the largest is the most negative one; a code at or
beyond that of infinity is not finite. Exact, and as fast as memory is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


@dataclass(frozen=True)
class Codes:
    """How a dtype's codes are read.

    Args:
        unsigned, signed: numpy types of the width of one code.
        infinity: the smallest positive code that is not finite; the negative one has the sign bit besides.
        largest: the largest finite number.
        only_nan: the single code that is NaN where there is neither a signed zero nor infinity.
    """

    unsigned: type[np.unsignedinteger[Any]]
    signed: type[np.signedinteger[Any]]
    infinity: int
    largest: float
    only_nan: int | None = None

    @cached_property
    def sign(self) -> int:
        return 1 << (8 * np.dtype(self.unsigned).itemsize - 1)

    @cached_property
    def magnitude(self) -> np.unsignedinteger[Any]:
        """All bits but that of the sign."""
        return self.unsigned(self.sign - 1)


# Sources: IEEE 754 for F16 to F64, bfloat16 as the upper half of F32, "FP8 formats for deep learning" (arXiv
# 2209.05433) for E4M3 (no infinity) and E5M2; FNUZ has one NaN, in the place of minus zero.
CODES: Mapping[str, Codes] = MappingProxyType(
    {
        "BF16": Codes(np.uint16, np.int16, 0x7F80, 3.3895313892515355e38),
        "F16": Codes(np.uint16, np.int16, 0x7C00, 65504.0),
        "F32": Codes(np.uint32, np.int32, 0x7F800000, 3.4028234663852886e38),
        "F64": Codes(np.uint64, np.int64, 0x7FF0000000000000, 1.7976931348623157e308),
        "F8_E4M3": Codes(np.uint8, np.int8, 0x7F, 448.0),
        "F8_E5M2": Codes(np.uint8, np.int8, 0x7C, 57344.0),
        "F8_E4M3FNUZ": Codes(np.uint8, np.int8, 0x80, 240.0, only_nan=0x80),
        "F8_E5M2FNUZ": Codes(np.uint8, np.int8, 0x80, 57344.0, only_nan=0x80),
    }
)
_MANTISSA = {"F8_E4M3": (3, 7), "F8_E5M2": (2, 15), "F8_E4M3FNUZ": (3, 8), "F8_E5M2FNUZ": (2, 16)}


def decode(codes: Array, dtype: str) -> NDArray[np.float64]:
    """The numbers that unsigned codes stand for, as float64."""
    if dtype == "BF16":
        return decode(codes.astype(np.uint32) << np.uint32(16), "F32")
    if dtype in ("F16", "F32", "F64"):
        with np.errstate(invalid="ignore"):  # a signalling NaN becomes a quiet one
            return codes.view({"F16": np.float16, "F32": np.float32, "F64": np.float64}[dtype]).astype(np.float64)
    bits, bias = _MANTISSA[dtype]
    magnitude = (codes & 0x7F).astype(np.int64)
    exponent, mantissa = magnitude >> bits, magnitude & ((1 << bits) - 1)
    normal = (1 + mantissa / (1 << bits)) * np.exp2(exponent - bias)
    small = mantissa / (1 << bits) * np.exp2(1.0 - bias)
    value = np.where(exponent > 0, normal, small) * np.where(codes & 0x80, -1.0, 1.0)
    bad = not_finite(codes, dtype)
    infinite = bad & (magnitude == CODES[dtype].infinity) if dtype == "F8_E5M2" else np.zeros_like(bad)
    return np.where(infinite, np.copysign(np.inf, value), np.where(bad, np.nan, value))


def not_finite(codes: Array, dtype: str) -> NDArray[np.bool_]:
    """Which codes are NaN or infinite. Makes a mask: for chunks in which the maxima have found one."""
    how = CODES[dtype]
    if how.only_nan is not None:
        return np.asarray(codes == how.only_nan)
    return np.asarray((codes & codes.dtype.type(how.sign - 1)) >= how.infinity)


def is_nan(codes: Array, dtype: str) -> NDArray[np.bool_]:
    """Which codes are NaN."""
    how = CODES[dtype]
    if how.only_nan is not None:
        return np.asarray(codes == how.only_nan)
    magnitude = codes & codes.dtype.type(how.sign - 1)
    return np.asarray(magnitude >= how.infinity if dtype == "F8_E4M3" else magnitude > how.infinity)
