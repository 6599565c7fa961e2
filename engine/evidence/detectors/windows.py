"""Robust statistics shared by the detectors: medians of windows and noise from successive differences.

Noise is 1.4826 x median(|x[i+1] - x[i]|) / sqrt(2): the standard deviation of white noise (MAD of a normal),
blind to slow trends and to single jumps.
"""

from __future__ import annotations

import numpy as np

from engine.evidence.series import Floats, Ints

MAD_TO_SIGMA = 1.4826
_EXACT = 2_000  # points up to which each has its own window; beyond, blocks stand for windows
_RANKED = 4_000  # block medians that a rank correlation looks at


def noise(values: Floats) -> float:
    """Return the standard deviation of the noise; 0 with fewer than two values."""
    if len(values) < 2:
        return 0.0
    return float(MAD_TO_SIGMA * np.median(np.abs(np.diff(values))) / np.sqrt(2.0))


def curve_noise(values: Floats) -> float:
    """Noise of a few points on a steep curve, from second differences (white noise: sqrt(6) sigma); 0 below three."""
    if len(values) < 3:
        return 0.0
    return float(MAD_TO_SIGMA * np.median(np.abs(np.diff(values, 2))) / np.sqrt(6.0))


def window(count: int) -> int:
    """Return how many points an edge window has: a tenth of the run, at least 2 (if there are 4), at most 50."""
    return max(1 if count < 4 else 2, min(count // 10, 50))


def first_level(values: Floats) -> float:
    """Median of the first window."""
    return float(np.median(values[: window(len(values))]))


def last_level(values: Floats) -> float:
    """Median of the last window."""
    return float(np.median(values[-window(len(values)) :]))


def level_noise(values: Floats, size: int) -> float:
    """Standard error of a window median: 1.2533 sigma / sqrt(n) for normal noise."""
    return 1.2533 * noise(values) / float(np.sqrt(max(size, 1)))


def window_medians(values: Floats, size: int) -> Floats:
    """Medians of consecutive windows; the last points fill the last window, none is left out."""
    size = max(size, 1)
    whole = (max(len(values) // size, 1) - 1) * size
    medians = np.median(values[:whole].reshape(-1, size), axis=1)
    return np.append(medians, np.median(values[whole:]))


def middle_of_three(values: Floats) -> Floats:
    """The median of each point and the two behind it; two shorter than the series."""
    first, second, third = values[:-2], values[1:-1], values[2:]
    middle: Floats = np.maximum(np.minimum(first, second), np.minimum(np.maximum(first, second), third))
    return middle


def medians_before(values: Floats, size: int) -> Floats:
    """For each point the median of up to ``size`` points in front of it; NaN for the first.

    In long series it is the median of the last whole block of ``size`` points in front of the point's own block.
    """
    out = np.full(len(values), np.nan)
    for at in range(1, min(size, len(values))):  # the first windows are shorter
        out[at] = np.median(values[:at])
    if size < len(values) <= _EXACT:
        out[size:] = np.median(np.lib.stride_tricks.sliding_window_view(values, size)[:-1], axis=1)
    elif len(values) > size:
        whole = (len(values) - 1) // size
        medians = np.median(values[: whole * size].reshape(-1, size), axis=1)
        out[size:] = np.repeat(medians, size)[: len(values) - size]
    return out


def noise_before(values: Floats, size: int) -> Floats:
    """For each point the noise of up to ``size`` points in front of it; 0 for the first two."""
    out = np.zeros(len(values))
    if len(values) > 2:
        steps = np.abs(np.diff(values))
        out[2:] = medians_before(steps, size - 1)[1:] * MAD_TO_SIGMA / np.sqrt(2.0)
    return out


def thinned(values: Floats, most: int) -> tuple[Floats, int]:
    """Return at most ``most`` block medians and the block size, for searches whose cost grows with the square."""
    size = -(-len(values) // most)
    if size <= 1:
        return values, 1
    whole = len(values) // size * size
    return np.median(values[:whole].reshape(-1, size), axis=1), size


def spearman(x: Floats | Ints, y: Floats) -> float:
    """Rank correlation, in long series of block medians; 0 where one of them is constant."""
    if len(y) > _RANKED:
        x, y = thinned(np.asarray(x, dtype=np.float64), _RANKED)[0], thinned(y, _RANKED)[0]
    ranks_x, ranks_y = _ranks(x), _ranks(y)
    spread = float(ranks_x.std() * ranks_y.std())
    return float(np.mean((ranks_x - ranks_x.mean()) * (ranks_y - ranks_y.mean()))) / spread if spread > 0 else 0.0


def _ranks(values: Floats | Ints) -> Floats:
    _, inverse, counts = np.unique(values, return_inverse=True, return_counts=True)
    ends = np.cumsum(counts)
    ranks: Floats = (ends - (counts - 1) / 2.0)[inverse].astype(np.float64)
    return ranks
