"""Points of a campaign: combinations of values, each with its scenario and its name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from hopflow._binding import native
from hopflow._errors import HopflowError
from hopflow.campaign.definition import Definition
from hopflow.campaign.design import settings
from hopflow.campaign.keys import with_value
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
        HopflowError: A key leads nowhere, or values do not fit their column.
    """
    found: dict[str, Point] = {}
    columns = definition.columns()
    for setting in settings(definition.parameters, definition.design):
        scenario = dict(definition.scenario)
        values = {}
        for (column, kind), parameter, value in zip(
            columns, definition.parameters, setting, strict=True
        ):
            for key in parameter.keys:
                scenario = with_value(scenario, key, value)
            values[column] = in_column(value, kind)
        found.setdefault(name_of(values), Point(name_of(values), values, scenario))
    return list(found.values())


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


def checked_contents(point: Point, build: str) -> dict[str, str]:
    """As `contents`, for a point.

    Raises:
        HopflowError: Its scenario cannot be run; the message names the point.
    """
    try:
        return contents(point.text, build)
    except HopflowError as error:
        where = f" (where {point.label})" if point.parameters else ""
        raise HopflowError(f"{error}{where}") from error
