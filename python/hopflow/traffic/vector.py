"""A step as a vector of fixed length, and back.

The vector has `FEATURES` entries: the number of objects, the logarithm of the first size, sixteen
quantiles of the logarithms of the objects' sizes, the number of uploads, and the logarithm of what
they sum up to. The quantiles lie denser at the top, where the bytes are: objects that are
interpolated between them sum up to within a few percent of what the step had, so that the sum
needs no entry of its own.

Logarithms are `log(1 + bytes)`.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hopflow.traffic.step import Floats, Step

#: Probabilities at which the quantiles of the objects' sizes are taken.
LEVELS: tuple[float, ...] = (
    0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.985, 1.0,
)  # fmt: skip

#: Names of the vector's entries.
NAMES: tuple[str, ...] = (
    "objects",
    "first",
    *(f"object-{level:g}" for level in LEVELS),
    "uploads",
    "uploaded",
)
FEATURES = len(NAMES)

_QUANTILES = slice(2, 2 + len(LEVELS))


def encode(steps: Sequence[Step]) -> Floats:
    """The vectors of steps, one a row; a step without objects has quantiles of zero."""
    return np.array([_encode_one(step) for step in steps])


def _encode_one(step: Step) -> Floats:
    sizes = np.log1p(np.array(step.objects, dtype=np.float64))
    quantiles = np.quantile(sizes, LEVELS) if step.objects else np.zeros(len(LEVELS))
    head = [len(step.objects), np.log1p(step.first)]
    tail = [len(step.uploads), np.log1p(sum(step.uploads))]
    return np.concatenate([head, quantiles, tail])


def decode(vectors: Floats) -> list[Step]:
    """The steps that vectors describe, one a row.

    Quantiles that decrease are sorted; every size is one byte or more.
    """
    return [_decode_one(vector) for vector in vectors]


def _decode_one(vector: Floats) -> Step:
    count, uploads = int(np.rint(vector[0])), int(np.rint(vector[-2]))
    quantiles = np.sort(vector[_QUANTILES])
    at = np.linspace(0.0, 1.0, count) if count > 1 else np.full(count, 0.5)
    objects = _bytes(np.interp(at, LEVELS, quantiles))
    share = np.expm1(vector[-1]) / max(uploads, 1)
    sent = (max(1, int(np.rint(share))),) * uploads
    return Step(int(_bytes(vector[1:2])[0]), tuple(int(size) for size in objects), sent)


def _bytes(logarithms: Floats) -> Floats:
    return np.maximum(1.0, np.rint(np.expm1(logarithms)))
