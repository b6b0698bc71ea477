"""What adversaries are told of traces: counts, bursts and curves, all from binned packets.

After the features of k-fingerprinting (Hayes and Danezis, USENIX Security '16), as far as bins
have them, the cumulative curve of CUMUL (Panchenko et al., NDSS '16), and cross-correlations.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hopflow.observer.traces import Floats

COARSE_S = 0.25
"""Bins of the series that are part of the features, in seconds."""

WIDEST_S = 0.25
"""The widest bins of an observer that adversaries take, in seconds."""

CURVE = 40
"""Points of a cumulative curve."""

LAGS_S = (-0.25, 2.0)
"""By how much data that leave the exit are later at the entry, at least and at most, in seconds.

For what the client sends it is the other way round: it is so much later at the exit.
"""


def of_trace(windows: Floats, bin_s: float) -> Floats:
    """Features of one trace each, shape `(n, d)`.

    Args:
        windows: What passed, shape `(n, 4, bins)`; channels as in `hopflow.observer.traces`.
        bin_s: Width of a bin, in seconds.
    """
    coarse = _coarse(windows, bin_s)
    coarse = np.log1p(coarse).reshape(len(windows), coarse.shape[1] * coarse.shape[2])
    totals = windows.sum(2)
    parts = [np.log1p(totals), _ratio(totals), coarse]
    for channel in (0, 3):
        parts += [_curve(windows[:, channel]), _bursts(windows[:, channel], bin_s)]
    return np.concatenate(parts, 1).astype(np.float32)


def takes(bin_s: float) -> bool:
    """Whether adversaries take bins of this width, in seconds.

    A second has a whole number of them, so that all windows of the games do, too, and they are not
    wider than `WIDEST_S`.
    """
    number = 1.0 / bin_s if bin_s > 0.0 else 0.0
    return bin_s <= WIDEST_S + 1e-9 and number >= 1.0 and abs(number - round(number)) < 1e-6


ALLOWED = "widths of which a second has a whole number, up to 250 ms"
"""What `takes` allows, for messages."""


def margin(bin_s: float) -> int:
    """Bins by which a pair's window at the entry is longer than that at the exit, at each end.

    They are those of the greatest lag, so that the whole window at the exit can be compared with
    what was seen so much later, or earlier, at the entry.
    """
    factor = _factor(bin_s, COARSE_S)
    return factor * math.ceil(LAGS_S[1] / (factor * bin_s) - 1e-9)


def of_pair(near: Floats, far: Floats, bin_s: float) -> tuple[Floats, Floats]:
    """Features of pairs of traces, shape `(n, d)`, and their correlation, shape `(n,)`.

    The correlation is the largest over lags of the bytes towards the client, in bins of `COARSE_S`.
    Totals and cumulative curves are compared at the lag at which it is reached.

    Args:
        near: At the entry, shape `(n, 4, margin + bins + margin)`.
        far: At the exit, shape `(n, 4, bins)`.
        bin_s: Width of a bin, in seconds.
    """
    later, sooner = LAGS_S, (-LAGS_S[1], -LAGS_S[0])
    down = _lagged(near[:, 3], far[:, 3], (bin_s, bin_s), later)
    smooth = _lagged(near[:, 3], far[:, 3], (bin_s, COARSE_S), later)
    up = _lagged(near[:, 1], far[:, 1], (bin_s, COARSE_S), sooner)
    best, at = smooth.max(1), smooth.argmax(1)
    shown, left = _aligned(near[:, 3], far.shape[2], at, bin_s), far[:, 3]
    curves = _curve(shown) - _curve(left)
    alone = [np.log1p(trace.sum(1)) for trace in (shown, left)]
    single = [alone[0] - alone[1], *alone, best, down.max(1), up.max(1), at / smooth.shape[1]]
    shape = [np.abs(curves).mean(1), curves.mean(1), np.abs(curves).max(1)]
    columns = np.stack([*single, *shape], 1)
    parts = [columns, down[:, ::2], smooth, up, curves]
    return np.concatenate(parts, 1).astype(np.float32), best.astype(np.float32)


def _coarse(windows: Floats, bin_s: float, width_s: float = COARSE_S) -> Floats:
    """Sums over wider bins; what is left over at the end is dropped."""
    factor = _factor(bin_s, width_s)
    count = windows.shape[-1] // factor
    cut = windows[..., : count * factor]
    return np.asarray(cut.reshape(*cut.shape[:-1], count, factor).sum(-1))


def _factor(bin_s: float, width_s: float) -> int:
    """Bins that are summed to a wider one."""
    return max(1, round(width_s / bin_s))


def _ratio(totals: Floats) -> Floats:
    """Bytes per packet in each direction, and the share that went up."""
    sizes = totals[:, 1::2] / np.maximum(totals[:, ::2], 1)
    share = totals[:, 1] / np.maximum(totals[:, 1] + totals[:, 3], 1)
    return np.concatenate([sizes / 1500, share[:, None]], 1)


def _curve(series: Floats) -> Floats:
    """Which share has passed by points of time, evenly spaced."""
    curve = np.cumsum(series, 1, dtype=np.float64)
    curve /= np.maximum(curve[:, -1:], 1)
    points = np.linspace(0, series.shape[1] - 1, CURVE).round().astype(int)
    return curve[:, points].astype(np.float32)


def _bursts(series: Floats, bin_s: float) -> Floats:
    """Number and sizes of runs of bins in which something passed, and the pauses between them."""
    busy = series > 0
    begins = busy & ~np.pad(busy, ((0, 0), (1, 0)))[:, :-1]
    number = begins.sum(1)
    share = busy.mean(1)
    run = busy.sum(1) / np.maximum(number, 1) * bin_s
    active = np.where(busy, series, np.nan)
    with np.errstate(all="ignore"):
        some = np.asarray(busy.any(1))
        quantiles = np.zeros((5, len(series)))
        filled = np.where(some[:, None], active, 0.0)
        quantiles[:, some] = np.nanquantile(filled[some], [0.1, 0.25, 0.5, 0.75, 1.0], axis=1)
    spread = series.std(1) / np.maximum(series.mean(1), 1e-9)
    steps = np.abs(np.diff(series, axis=1)).mean(1) / np.maximum(series.mean(1), 1e-9)
    first = np.where(some, busy.argmax(1), series.shape[1]) * bin_s
    single = np.stack([number / 10, share, run, spread, steps, first], 1)
    return np.concatenate([single, np.log1p(quantiles.T)], 1).astype(np.float32)


def _lags(bin_s: float, width_s: float, within_s: tuple[float, float]) -> range:
    """Lags within bounds, in wider bins."""
    factor = _factor(bin_s, width_s)
    most, wide_s = margin(bin_s) // factor, factor * bin_s
    first, last = (round(bound / wide_s) for bound in within_s)
    return range(max(first, -most), min(last, most) + 1)


def _lagged(
    near: Floats, far: Floats, widths_s: tuple[float, float], within_s: tuple[float, float]
) -> Floats:
    """Correlations of all of `far` with parts of `near`, which begins a margin before it does.

    Args:
        near: One series each at the entry, with a margin at each end.
        far: One series each at the exit.
        widths_s: Width of a bin, and that of the wider bins whose sums are correlated.
        within_s: Bounds of the lags by which the part of `near` begins later.
    """
    one, two = (_coarse(series, *widths_s) for series in (near, far))
    skipped, count = margin(widths_s[0]) // _factor(*widths_s), two.shape[1]
    starts = [skipped + lag for lag in _lags(*widths_s, within_s)]
    return np.stack([_correlation(one[:, at : at + count], two) for at in starts], 1)


def _aligned(near: Floats, width: int, lags: NDArray[np.intp], bin_s: float) -> Floats:
    """The part of each series at the entry that is so many lags, in wide bins, later."""
    first = _lags(bin_s, COARSE_S, LAGS_S).start
    starts = margin(bin_s) + (first + lags) * _factor(bin_s, COARSE_S)
    return np.take_along_axis(near, starts[:, None] + np.arange(width), 1)


def _correlation(near: Floats, far: Floats) -> Floats:
    """Pearson's; 0 where a series is constant."""
    near = near - near.mean(1, keepdims=True)
    far = far - far.mean(1, keepdims=True)
    scale = np.sqrt((near**2).sum(1) * (far**2).sum(1))
    return np.asarray((near * far).sum(1) / np.maximum(scale, 1e-9), np.float32)
