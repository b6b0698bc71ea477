"""Which combinations of values are points: all of them, or a sample that fills the space."""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from hopflow._errors import HopflowError
from hopflow.campaign.values import MOST, Span, Value, column_type, read_values

Settings = tuple[Value, ...]
"""A value of each parameter."""


@dataclass(frozen=True)
class Parameter:
    """What is varied.

    Attributes:
        keys: Where its values are put in the scenario: one key, or several that change together.
        values: Its values.
    """

    keys: tuple[str, ...]
    values: Span | tuple[Value, ...]

    @property
    def name(self) -> str:
        """How reports call it: its key."""
        return self.keys[0]

    def listed(self) -> tuple[Value, ...]:
        """Its values in a grid."""
        return tuple(self.values.values()) if isinstance(self.values, Span) else self.values

    def at(self, share: float) -> Value:
        """Its value at a share of the way through them, from 0 to 1."""
        if isinstance(self.values, Span):
            return self.values.at(share)
        return self.values[min(int(share * len(self.values)), len(self.values) - 1)]

    def column(self) -> tuple[str, str]:
        """The name and the type of its column; the name ends in the unit."""
        kind, suffix = column_type(
            (self.values.low, self.values.high) if isinstance(self.values, Span) else self.values
        )
        if isinstance(self.values, Span) and self.values.count is not None and kind == "int64":
            kind = column_type(self.listed())[0]
        return re.sub(r"[^A-Za-z0-9]+", "_", self.name).strip("_") + suffix, kind


def parameters(vary: Mapping[str, object]) -> tuple[Parameter, ...]:
    """Parameters by their keys; several keys with `=` between them change together.

    Raises:
        HopflowError: Values are none, or two parameters have the same column.
    """
    found = tuple(
        Parameter(tuple(part.strip() for part in key.split("=")), read_values(values, key))
        for key, values in vary.items()
    )
    columns = [parameter.column()[0] for parameter in found]
    for column in columns:
        if columns.count(column) > 1:
            raise HopflowError(f"vary: two parameters have the column {column}; allowed is one")
    return found


_DESIGN = re.compile(
    r"(?P<name>grid|sobol|latin-hypercube)(?::(?P<count>[0-9]+))?(?::seed=(?P<seed>[0-9]+))?"
)


def settings(parameters: Sequence[Parameter], design: str) -> list[Settings]:
    """The points of a design.

    Args:
        parameters: What is varied.
        design: `grid`: all combinations; `sobol:N` or `latin-hypercube:N`: N points that fill the
            space, drawn with seed 0 unless `:seed=S` follows.

    Raises:
        HopflowError: There is no such design, or it has no points or too many.
    """
    match = _DESIGN.fullmatch(design)
    if match is None or (match["name"] != "grid") != (match["count"] is not None):
        raise HopflowError(
            f"design: it is {design!r}; allowed: grid, sobol:N, latin-hypercube:N (and :seed=S)"
        )
    if match["name"] == "grid":
        listed = [parameter.listed() for parameter in parameters]
        _check_number(math.prod(map(len, listed)), design)
        return list(itertools.product(*listed))
    _check_number(int(match["count"]), design)
    if not parameters:
        raise HopflowError(f"design: it is {design!r}; allowed only where parameters vary")
    return _sampled(parameters, match["name"], int(match["count"]), int(match["seed"] or 0))


def _check_number(points: int, design: str) -> None:
    if not 1 <= points <= MOST:
        raise HopflowError(f"design: {design} has {points} points; allowed are 1 to {MOST}")


def _sampled(parameters: Sequence[Parameter], method: str, count: int, seed: int) -> list[Settings]:
    from scipy.stats import qmc

    sampler = (
        qmc.Sobol(len(parameters), rng=seed)
        if method == "sobol"
        else qmc.LatinHypercube(len(parameters), rng=seed)
    )
    if method == "sobol" and count & (count - 1) != 0:
        raise HopflowError(f"design: sobol:{count}; allowed are powers of two, such as 64")
    found: dict[str, Settings] = {}
    for row in sampler.random(count):
        values = tuple(p.at(float(share)) for p, share in zip(parameters, row, strict=True))
        found.setdefault(repr(values), values)
    return list(found.values())
