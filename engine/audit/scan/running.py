"""The stats of one tensor, chunk by chunk, in constant memory."""

from __future__ import annotations

import math
import zlib
from dataclasses import dataclass, field

import numpy as np

from engine.audit.scan.codes import CODES, Array, Codes, decode, is_nan, not_finite
from engine.audit.tensors import TensorInfo, TensorStats

# Elements that the mean square is taken of: all of a small tensor, of a large one the first of every so many chunks,
# fewer after the first. Thresholds on it are factors of four and more, which a sample of this size decides.
SAMPLE, LATER_SAMPLE, SAMPLED_CHUNKS = 16_384, 4_096, 8
HELD_SAMPLES = 16
# Bytes of each chunk that go into the mark by which equal tensors are looked for.
MARKED = 1_024


@dataclass
class Running:
    """Fed with the raw bytes of a tensor in order; whole elements, and whole rows where ``row_bytes`` allows.

    For dtypes that are no floating-point numbers only zero, constant and the mark are worked out.
    """

    tensor: TensorInfo
    seen: int = 0
    nan: int = 0
    inf: int = 0
    first_bad: int | None = None
    saturated: int = 0
    top: int = 0
    bottom: int = 0
    chunks: int = 0
    zero: bool = True
    constant: bool = True
    negative: bool = True
    zero_rows: int = 0
    mark: int = 0
    squares: float = 0.0
    magnitudes: float = 0.0
    sampled: int = 0
    held: list[Array] = field(default_factory=list)  # samples that are not decoded yet
    first: int | None = None
    codes: Codes | None = field(init=False)
    row: int = field(init=False)  # elements of a row of a matrix, 0 where rows are not looked at

    def __post_init__(self) -> None:
        self.codes = CODES.get(self.tensor.dtype)
        self.row = self.row_bytes // np.dtype(self.codes.unsigned).itemsize if self.codes else 0

    @property
    def row_bytes(self) -> int:
        """Bytes of one row of a matrix; 0 if the tensor is none."""
        shape = self.tensor.shape
        return self.tensor.nbytes // shape[0] if len(shape) >= 2 and shape[0] else 0

    def feed(self, chunk: memoryview) -> None:
        """Take the next bytes of the tensor."""
        self.mark = zlib.crc32(chunk[:MARKED], self.mark)
        if self.codes is None:
            self._feed_bytes(np.frombuffer(chunk, np.uint8))
        else:
            self._feed_codes(np.frombuffer(chunk, self.codes.unsigned), self.codes)

    def _feed_bytes(self, data: Array) -> None:
        if self.zero:
            self.zero = not data.any()
        if self.constant:
            self._still_constant(data)
        self.seen += data.size

    def _feed_codes(self, data: Array, codes: Codes) -> None:
        # The methods of arrays go through Python first, which a chunk of this size feels.
        top, bottom = int(np.maximum.reduce(data.view(codes.signed))), int(np.maximum.reduce(data))
        if self.constant:
            self._still_constant(data)
        # A positive code, a code with the sign bit: the largest of either is an extreme of the chunk.
        self.zero = self.zero and top <= 0 and bottom in (0, codes.sign)
        self.negative = self.negative and top < 0
        if codes.only_nan is not None:
            bad = int(data.view(codes.signed).min()) == -codes.sign
        else:
            bad = top >= codes.infinity or bottom >= codes.sign + codes.infinity
        finite = data
        if bad:
            mask = not_finite(data, self.tensor.dtype)
            self._note_bad(data, mask)
            finite = data[~mask]
            if finite.size:
                top, bottom = int(finite.view(codes.signed).max()), int(finite.max())
        if finite.size:
            self._note_extremes(finite, top, bottom, codes)
        self.seen += data.size

    def _still_constant(self, data: Array) -> None:
        if self.first is None:
            self.first = int(data[0])
        self.constant = int(data[-1]) == self.first and int(data.max()) == int(data.min()) == self.first

    def _note_bad(self, data: Array, mask: Array) -> None:
        nans = int(is_nan(data, self.tensor.dtype).sum())
        self.nan += nans
        self.inf += int(mask.sum()) - nans
        if self.first_bad is None:
            self.first_bad = self.seen + int(mask.argmax())

    def _note_extremes(self, finite: Array, top: int, bottom: int, codes: Codes) -> None:
        self.top, self.bottom = max(self.top, top), max(self.bottom, bottom)
        saturated = codes.infinity - 1
        if self.tensor.dtype == "F16" and (top == saturated or bottom == saturated + codes.sign):
            self.saturated += int(((finite & 0x7FFF) == saturated).sum())
        if self.chunks % SAMPLED_CHUNKS == 0:
            self.held.append(finite[: LATER_SAMPLE if self.chunks else SAMPLE].copy())
            if len(self.held) >= HELD_SAMPLES:
                self._note_samples()
        self.chunks += 1
        self._note_rows(finite, codes)

    def _note_samples(self) -> None:
        """Decode what is held, all at once: of a few thousand numbers the calls cost more than the work."""
        if not self.held:
            return
        values = decode(np.concatenate(self.held), self.tensor.dtype)
        self.held.clear()
        with np.errstate(over="ignore"):  # of numbers beyond 1e154 the sums are infinite
            self.magnitudes += float(np.abs(values, out=values).sum())
            # No dot product: the linear algebra library would start threads for it, which costs more than the sum.
            self.squares += float(np.square(values, out=values).sum())
        self.sampled += values.size

    def _note_rows(self, data: Array, codes: Codes) -> None:
        """Rows whose elements are all zero. Only rows that begin with zero are looked at: few do."""
        if self.row < 2 or data.size % self.row:
            return
        begins = data[:: self.row] & codes.magnitude
        if not np.logical_and.reduce(begins):
            candidates = data.reshape(-1, self.row)[np.flatnonzero(begins == 0)] & codes.magnitude
            self.zero_rows += int((~candidates.any(axis=1)).sum())

    def stats(self) -> TensorStats:
        """What was seen; of an empty tensor nothing is zero or constant."""
        self._note_samples()
        empty = self.seen == 0
        rows = self.tensor.shape[0] if self.row_bytes else 0
        sampled = max(self.sampled, 1)
        return TensorStats(
            nan=self.nan,
            inf=self.inf,
            first_bad=self.first_bad,
            absmax=self._absmax(),
            saturated=self.saturated,
            rms=math.sqrt(self.squares / sampled),
            mean_abs=self.magnitudes / sampled,
            zero=self.zero and not empty,
            constant=self.constant and not empty,
            negative=self.negative and not empty and self.codes is not None,
            zero_rows=self.zero_rows / rows if rows else 0.0,
            mark=self.mark,
        )

    def _absmax(self) -> float:
        """The largest finite magnitude, from the extreme codes of either sign."""
        if self.codes is None:
            return 0.0
        ends = np.array([self.top, self.bottom], self.codes.unsigned)
        return float(np.abs(decode(ends, self.tensor.dtype)).max())
