"""Points of a campaign: combinations of values, each with its scenario and its name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hopflow._binding import native
from hopflow._errors import HopflowError
from hopflow.campaign.definition import Definition
from hopflow.campaign.design import Parameter, Settings, settings
from hopflow.campaign.keys import Place, places, with_value
from hopflow.campaign.values import in_column


@dataclass(frozen=True)
class Point:
    """A combination of values.

    Attributes:
        id: Its name, from its values: the same in every campaign over the same parameters.
        parameters: Its values as columns hold them.
        scenario: Its scenario, without seeds.
    """

    id: str
    parameters: Mapping[str, Any]
    scenario: Mapping[str, Any]

    @cached_property
    def text(self) -> str:
        """The scenario with one seed, as TOML."""
        found: str = native().to_toml(json.dumps({**self.scenario, "seeds": [1]}))
        return found

    @property
    def label(self) -> str:
        """Its values for readers."""
        return ", ".join(f"{name} = {shown(value)}" for name, value in self.parameters.items())


def shown(value: Any) -> str:
    """A value for readers."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def points(definition: Definition) -> list[Point]:
    """The points, in the order of the design.

    Raises:
        HopflowError: A key leads nowhere, values do not fit their column, or two parameters write
            the same place of the scenario.
    """
    found: dict[str, Point] = {}
    columns = definition.columns()
    for setting in settings(definition.parameters, definition.design):
        scenario = _with_values(definition.scenario, definition.parameters, setting)
        values = {
            column: in_column(value, kind)
            for (column, kind), value in zip(columns, setting, strict=True)
        }
        found.setdefault(name_of(values), Point(name_of(values), values, scenario))
    return list(found.values())


def _with_values(
    scenario: Mapping[str, Any], parameters: Sequence[Parameter], setting: Settings
) -> dict[str, Any]:
    """A scenario with a value of each parameter, of which none writes over that of another."""
    changed = dict(scenario)
    written: dict[Place, str] = {}
    around: dict[Place, str] = {}
    for parameter, value in zip(parameters, setting, strict=True):
        own: dict[Place, str] = {}
        for key in parameter.keys:
            before, changed = changed, with_value(changed, key, value)
            own |= dict.fromkeys(places(before, key), key)
        for place, key in own.items():
            outer = [place[:length] for length in range(1, len(place))]
            for other in (around.get(place), *map(written.get, [*outer, place])):
                if other is not None:
                    _refuse_both(other, key)
            around |= dict.fromkeys(outer, key)
        written |= own
    return changed


def _refuse_both(first: str, second: str) -> None:
    raise HopflowError(
        f"vary: {first} and {second} write the same place of the scenario, so that one value is "
        "lost; allowed is one of both, or both with `=` between them, for one value"
    )


def name_of(parameters: Mapping[str, Any]) -> str:
    """The name of the point with these values."""
    text = json.dumps(dict(parameters), sort_keys=True)
    return "p" + hashlib.blake2b(text.encode(), digest_size=6).hexdigest()


def contents(text: str, build: str) -> dict[str, str]:
    """What the runs of each transport are made from, as a hash: that of the run with seed 1.

    Raises:
        HopflowError: The scenario cannot be run.
    """
    keys = json.loads(native().keys((True, text), build))
    return {key["transport"]: key["content"] for key in keys}


@dataclass(frozen=True)
class Checked:
    """Points whose scenarios were read.

    Attributes:
        points: Those that can be run.
        contents: What their runs are made from, by point and transport.
        left_out: Those that cannot, each with the reason.
    """

    points: list[Point]
    contents: dict[str, dict[str, str]]
    left_out: list[tuple[Point, str]]


def checked(points: Sequence[Point], build: str, skip: bool) -> Checked:
    """Reads the scenarios of points.

    Args:
        points: The points.
        build: What makes the runs.
        skip: Whether points that cannot be run are left out.

    Raises:
        HopflowError: The scenario of a point, or of all, cannot be run; the message names it.
    """
    found = Checked([], {}, [])
    for point in points:
        try:
            found.contents[point.id] = contents(point.text, build)
            found.points.append(point)
        except HopflowError as error:
            if not skip:
                where = f" (where {point.label})" if point.parameters else ""
                raise HopflowError(f"{error}{where}") from error
            found.left_out.append((point, str(error)))
    if not found.points:
        _, reason = found.left_out[0]
        raise HopflowError(f"no point can be run; the first: {reason}")
    return found
