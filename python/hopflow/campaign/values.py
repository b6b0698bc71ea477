"""Values of varied parameters: lists, ranges, and how they become columns."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Context, Decimal
from typing import Any

from hopflow._errors import HopflowError
from hopflow._runs import plain

Value = Any
"""A value of a scenario: text, perhaps a quantity with a unit; a number, true or false, a table."""

_TIME = {"ns": "1e-9", "us": "1e-6", "ms": "1e-3", "s": "1", "min": "60"}
_DATA = {"B": "1", "kB": "1e3", "MB": "1e6", "GB": "1e9"}
_DATA |= {"KiB": "1024", "MiB": "1048576", "GiB": "1073741824"}
_BITS = {"bit/s": "0.125", "kbit/s": "125", "Mbit/s": "125e3", "Gbit/s": "125e6"}
_RATE = {f"{unit}/s": scale for unit, scale in _DATA.items()} | _BITS
_PACKETS = {"packets": "1"}

_UNITS: dict[str, tuple[str, Decimal]] = {
    unit: (suffix, Decimal(scale))
    for suffix, units in (
        ("", {"": "1"}),
        ("_s", _TIME),
        ("_bytes", _DATA),
        ("_bytes_per_s", _RATE),
        ("_packets", _PACKETS),
    )
    for unit, scale in units.items()
}

MOST = 100_000
"""The most values of a range, and the most points of a campaign."""

_NUMBER = re.compile(r"[+-]?[0-9][0-9_]*(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?")
# As scenarios take them: without sign and exponent.
_QUANTITY = re.compile(r"([0-9][0-9_]*(?:\.[0-9_]*)?)\s*([A-Za-z/]+)")

# Equal quantities are one double only if nothing is rounded before: 7 ms and 7000 us.
_EXACT = Context(prec=1000, traps=[])


@dataclass(frozen=True)
class Quantity:
    """A number with its unit; empty for plain numbers."""

    number: Decimal
    unit: str

    @property
    def base(self) -> float:
        """The number in the unit that the column's name ends in, as the nearest double."""
        return float(self._exact)

    @property
    def _exact(self) -> Decimal:
        return _EXACT.multiply(self.number, _UNITS[self.unit][1])

    def within(self, unit: str) -> float:
        """The number in another unit of the same kind, as the nearest double."""
        return float(_EXACT.divide(self._exact, _UNITS[unit][1]))

    @property
    def suffix(self) -> str:
        """The end of the column's name."""
        return _UNITS[self.unit][0] if self.unit else ""


def quantity(value: Value) -> Quantity | None:
    """A value as a number with a known unit, if it is one."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        try:
            return Quantity(Decimal(float(value)), "")
        except OverflowError:
            return None
    if not isinstance(value, str):
        return None
    text = value.strip()
    if _NUMBER.fullmatch(text):
        return Quantity(Decimal(float(text.replace("_", ""))), "")
    match = _QUANTITY.fullmatch(text)
    if match is None or match[2] not in _UNITS:
        return None
    return Quantity(Decimal(match[1].replace("_", "")), match[2])


@dataclass(frozen=True)
class Span:
    """The values between two, both included.

    Attributes:
        low: The lowest.
        high: The highest, of the same dimension.
        count: Number of values, in equal steps; `None`: whole numbers one by one in a grid, and
            any value in a sampled design.
        log: Whether steps are equal ratios.
    """

    low: Value
    high: Value
    count: int | None = None
    log: bool = False

    def values(self) -> list[Value]:
        """The values of a grid.

        Raises:
            HopflowError: It has no count, and is not one of whole numbers in steps of one; or it
                has too many values.
        """
        low, _ = self.ends()
        if self.count is not None:
            self._check_number(self.count)
            steps = max(self.count - 1, 1)
            return [self.at(step / steps) for step in range(self.count)]
        if self.log or not self._whole() or low.unit:
            raise HopflowError(
                f"vary: {self.text()} says not how many values it has; allowed are "
                f"{self.text()}:N and, with equal ratios, {self.text()}:logN"
            )
        self._check_number(int(self.high) - int(self.low) + 1)
        return list(range(int(self.low), int(self.high) + 1))

    def _check_number(self, number: int) -> None:
        if number > MOST:
            raise HopflowError(
                f"vary: {self.text()}: the number of values is {number}; allowed are up to {MOST}"
            )

    def at(self, share: float) -> Value:
        """The value at a share of the way, from 0 to 1; whole where both ends are.

        Six digits are enough between the ends; these are as they were given.
        """
        low, high = self.ends()
        first, last = low.within(low.unit), high.within(low.unit)
        if self.log:
            found = math.exp(math.log(first) + share * (math.log(last) - math.log(first)))
        else:
            found = first + share * (last - first)
        if not low.unit and self._whole():
            return min(int(self.high), max(int(self.low), round(found)))
        rounded = Quantity(Decimal(f"{found:.6g}"), low.unit)
        for place, end, given in ((0.0, low, self.low), (1.0, high, self.high)):
            if share == place and rounded.base != end.base:
                return given if end.unit else end.base
        if not low.unit:
            return rounded.base
        # Scenarios have quantities without exponents.
        return f"{rounded.number:f} {low.unit}"

    def ends(self) -> tuple[Quantity, Quantity]:
        """Both ends.

        Raises:
            HopflowError: They are no such quantities, not finite, or in the wrong order.
        """
        low, high = quantity(self.low), quantity(self.high)
        if low is None or high is None or low.suffix != high.suffix:
            raise HopflowError(
                f"vary: {self.text()}: allowed are two numbers, or two quantities of the same kind "
                "with their units, such as 2..6 or 1 MB/s..8 MB/s:4"
            )
        if not math.isfinite(high.base - low.base):
            raise HopflowError(f"vary: {self.text()}: allowed are ends that are finite")
        if low.base > high.base or (self.log and low.base <= 0.0):
            raise HopflowError(
                f"vary: {self.text()}: allowed is the lower end first"
                + (", above zero where steps are ratios" if self.log else "")
            )
        return low, high

    def _whole(self) -> bool:
        return isinstance(self.low, int) and isinstance(self.high, int)

    def text(self) -> str:
        """The range as it is written."""
        return f"{self.low}..{self.high}"


def read_values(given: Any, key: str) -> Span | tuple[Value, ...]:
    """The values of a parameter: a list, or text such as `2..6`, `1 MB/s..8 MB/s:log4`, `a,b`.

    Args:
        given: A list of values, a `Span`, or text.
        key: The parameter, for messages.

    Raises:
        HopflowError: There are none, one stands twice, or a range is none.
    """
    if isinstance(given, str):
        span = _span(given)
        given = span if span is not None else [_scalar(part) for part in given.split(",")]
    if isinstance(given, Span):
        given.ends()
        return given
    if isinstance(given, bool | int | float | dict) or not isinstance(given, Sequence):
        raise HopflowError(
            f"vary: {key}: it is {given!r}; allowed are a list of values, and ranges such as "
            '"2..6" or "1 MB/s..8 MB/s:4"'
        )
    values = tuple(plain(value, f"vary: {key}") for value in given)
    texts = [json.dumps(value, sort_keys=True) for value in values]
    if not values or len(set(texts)) < len(texts):
        raise HopflowError(f"vary: {key}: it is {list(values)}; allowed are values, each once")
    return values


_SPAN = re.compile(r"(?P<low>[^,]+?)\.\.(?P<high>[^,:]+)(?::(?P<log>log)?(?P<count>[0-9]+)?)?")


def _span(text: str) -> Span | None:
    match = _SPAN.fullmatch(text.strip())
    if match is None:
        return None
    count = match["count"]
    if count is not None and int(count) < 2:
        raise HopflowError(f"vary: {text}: the number of values is {count}; allowed is 2 or more")
    low, high = _scalar(match["low"]), _scalar(match["high"])
    return Span(low, high, None if count is None else int(count), match["log"] is not None)


def _scalar(text: str) -> Value:
    """A value as a command line gives it: a number, true or false, or text."""
    text = text.strip()
    if text in ("true", "false"):
        return text == "true"
    for read in (int, float):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def column_type(values: Sequence[Value]) -> tuple[str, str]:
    """The type of a column that holds values, and the end of its name: `double` and `_s`, say."""
    if all(isinstance(value, bool) for value in values):
        return "bool", ""
    if all(isinstance(value, int) and not isinstance(value, bool) for value in values):
        return "int64", ""
    found = [quantity(value) for value in values]
    suffixes = {one.suffix for one in found if one is not None}
    if None not in found and len(suffixes) == 1:
        return "double", suffixes.pop()
    return "text", ""


def in_column(value: Value, kind: str) -> Any:
    """A value as a column of a type holds it."""
    if kind == "double":
        found = quantity(value)
        if found is not None:
            return found.base
    if kind == "int64" and isinstance(value, int) and not isinstance(value, bool):
        return value
    if kind == "bool" and isinstance(value, bool):
        return value
    if kind == "text":
        return value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    raise HopflowError(f"vary: {value!r} does not fit the other values, which are {kind}")
