"""Tensors as an audit sees them: where their bytes lie, and what a pass over the bytes says about the numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass

# Bits of one element by the names of the safetensors format (reference reader 0.8.0). Other containers use them, too.
DTYPE_BITS = {
    "BOOL": 8, "U8": 8, "I8": 8, "F8_E5M2": 8, "F8_E4M3": 8, "F8_E8M0": 8, "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8,
    "F4": 4, "F6_E2M3": 6, "F6_E3M2": 6, "I16": 16, "U16": 16, "F16": 16, "BF16": 16, "I32": 32, "U32": 32,
    "F32": 32, "C64": 64, "F64": 64, "I64": 64, "U64": 64,
}  # fmt: skip
FLOAT_DTYPES = frozenset({"F64", "F32", "F16", "BF16", "F8_E5M2", "F8_E4M3", "F8_E4M3FNUZ", "F8_E5M2FNUZ"})


@dataclass(frozen=True, slots=True)
class TensorInfo:
    """One tensor: ``offset`` and ``nbytes`` are of its bytes in ``file``, counted from the start of the file.

    ``storage`` names the memory that tensors of one pickle share; equal names are tied weights. Empty elsewhere.
    """

    name: str
    file: str
    dtype: str
    shape: tuple[int, ...]
    offset: int
    nbytes: int
    storage: str = ""

    @property
    def numel(self) -> int:
        return math.prod(self.shape)

    @property
    def is_matrix(self) -> bool:
        return len(self.shape) >= 2 and self.numel > 1


@dataclass(frozen=True, slots=True)
class TensorStats:
    """What the bytes of one tensor say; magnitudes and NaN only where the dtype is a floating-point one.

    Args:
        nan, inf: how many elements are NaN or infinite; ``first_bad`` is the flat index of the first such element.
        absmax: largest finite magnitude; ``saturated`` counts elements equal to the largest finite number of the dtype.
        rms, mean_abs: over a sample of the finite elements, which holds all of a small tensor.
        zero: every element is zero. ``constant``: all codes are equal. ``negative``: no element is positive or +0.
        zero_rows: share of the rows that are zero.
        mark: checksum of a sample of the bytes; tensors that differ in it differ, those that agree are to be compared.
    """

    nan: int
    inf: int
    first_bad: int | None
    absmax: float
    saturated: int
    rms: float
    mean_abs: float
    zero: bool
    constant: bool
    negative: bool
    zero_rows: float
    mark: int
