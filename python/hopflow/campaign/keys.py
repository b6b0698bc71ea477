"""Keys of scenarios: paths such as `network.relays[bottleneck].bucket.rate`."""

from __future__ import annotations

import copy
import difflib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from hopflow._errors import HopflowError

_SEGMENT = re.compile(
    r"(?:(?P<name>[A-Za-z0-9_-]+)|\"(?P<quoted>[^\"]+)\")(?P<members>(?:\[[^\[\]]+\])*)(?:\.(?=.)|$)"
)


def with_value(scenario: Mapping[str, Any], key: str, value: Any) -> dict[str, Any]:
    """A scenario with another value at a key; tables that are missing are made.

    Args:
        scenario: The scenario as a dict.
        key: Names with dots between them, those with other letters than English ones, digits, `-`
            and `_` in quotation marks; a member of a list is `[NUMBER]`, counted from 0, the one
            whose `name` it is, or `[*]` for all.
        value: The value.

    Raises:
        HopflowError: The key is no path, or leads through something that is no table or list.
    """
    changed = copy.deepcopy(dict(scenario))
    *before, last = segments(key)
    holders: list[Any] = [changed]
    for segment in before:
        holders = [inner for holder in holders for inner in _enter(holder, segment, key)]
    for holder in holders:
        _set(holder, last, value, key)
    return changed


Place = tuple[str | int, ...]
"""A place in a scenario: names in tables and numbers in lists, from outside to inside."""


def places(scenario: Mapping[str, Any], key: str) -> list[Place]:
    """Where `with_value` puts the value of a key: one place, or with `[*]` one for each member.

    Args:
        scenario: The scenario without the value.
        key: As for `with_value`, which takes it.
    """
    found: list[tuple[Place, Any]] = [((), scenario)]
    for segment in segments(key):
        found = [
            ((*place, step), inner)
            for place, holder in found
            for step, inner in _steps(holder, segment, key)
        ]
    return [place for place, _ in found]


def _steps(holder: Any, segment: str, key: str) -> Iterator[tuple[str | int, Any]]:
    if segment.startswith("["):
        for number in _members(holder, segment, key):
            yield number, holder[number]
        return
    # Tables that are missing are made with the value.
    yield segment, holder.get(segment) if isinstance(holder, Mapping) else None


def segments(key: str) -> list[str]:
    """The names and `[members]` of a key, one by one.

    Raises:
        HopflowError: The key is no path.
    """
    found: list[str] = []
    place = 0
    while place < len(key) or not found:
        match = _SEGMENT.match(key, place)
        if match is None:
            raise HopflowError(
                f"vary: {key!r} is no key of a scenario; allowed are names with dots between them, "
                "such as network.bucket.rate, circuits[1].count or "
                "network.relays[exit].bucket.rate; a name with others than English letters, "
                "digits, - and _ stands in quotation marks"
            )
        place = match.end()
        found.append(match["name"] or match["quoted"])
        found.extend(re.findall(r"\[[^\[\]]+\]", match["members"]))
    return found


def _enter(holder: Any, segment: str, key: str) -> Iterator[Any]:
    if segment.startswith("["):
        for number in _members(holder, segment, key):
            yield holder[number]
        return
    _check_table(holder, segment, key)
    if segment not in holder and holder is not None:
        holder[segment] = {}
    yield holder[segment]


def _set(holder: Any, segment: str, value: Any, key: str) -> None:
    if segment.startswith("["):
        for number in _members(holder, segment, key):
            holder[number] = copy.deepcopy(value)
        return
    _check_table(holder, segment, key)
    holder[segment] = copy.deepcopy(value)


def _check_table(holder: Any, segment: str, key: str) -> None:
    if not isinstance(holder, dict):
        raise HopflowError(
            f"vary: {key}: {segment!r} would stand in {holder!r}, which is no table; allowed is a "
            "key of a table"
        )


def _members(holder: Any, segment: str, key: str) -> list[int]:
    inner = segment[1:-1]
    if not isinstance(holder, list):
        raise HopflowError(f"vary: {key}: {segment} asks for a member of {holder!r}, no list")
    if inner == "*":
        return list(range(len(holder)))
    if inner.isdecimal():
        if int(inner) < len(holder):
            return [int(inner)]
        raise HopflowError(f"vary: {key}: there is no {segment}; the last is [{len(holder) - 1}]")
    names = [str(member.get("name", "")) for member in holder if isinstance(member, dict)]
    if inner not in names:
        near = difflib.get_close_matches(inner, names, 1)
        hint = f"did you mean {near[0]!r}? " if near else ""
        raise HopflowError(
            f"vary: {key}: nothing is called {inner!r}; {hint}allowed: "
            f"{', '.join(filter(None, names)) or 'numbers from 0 on'}"
        )
    return [names.index(inner)]
