"""What a campaign is: a scenario, what is varied, and when to stop."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hopflow._binding import native
from hopflow._errors import HopflowError
from hopflow._runs import plain
from hopflow._scenario import read_scenario
from hopflow.campaign.design import Parameter, parameters
from hopflow.campaign.stopping import Target
from hopflow.campaign.values import quantity

DEFAULT_TABLES = ("circuits", "downloads")
"""The tables of each run that a campaign keeps, beside `runs`."""


@dataclass(frozen=True)
class Networks:
    """How many networks each point gets.

    Attributes:
        first: In the first round.
        most: In all.
        batch: Networks that share a file; `first` and `most` are multiples.
    """

    first: int
    most: int
    batch: int


@dataclass(frozen=True)
class Definition:
    """What is asked.

    Attributes:
        scenario: The scenario, without seeds, as a dict.
        parameters: What is varied.
        design: Which combinations are points; see `design.settings`.
        targets: What is to be known how precisely; empty: `networks.first` networks each.
        baseline: The transport that others are compared with.
        networks: How many networks each point gets.
        tables: The tables of each run that are kept.
        confidence: Of each interval.
        runs: The most runs in all; `None`: no bound.
        skip: `"invalid"`: points that cannot be run are left out; `None`: they are refused.
    """

    scenario: Mapping[str, Any]
    parameters: tuple[Parameter, ...]
    design: str
    targets: tuple[Target, ...]
    baseline: str
    networks: Networks
    tables: tuple[str, ...]
    confidence: float
    runs: int | None
    skip: str | None

    @property
    def name(self) -> str:
        """The scenario's name."""
        return str(self.scenario["name"])

    @property
    def transports(self) -> list[str]:
        """The labels of the transports, the baseline first."""
        others = [label for label in self.scenario["transports"] if label != self.baseline]
        return [self.baseline, *others]

    def columns(self) -> list[tuple[str, str]]:
        """The name and the type of the columns of all parameters."""
        return [parameter.column() for parameter in self.parameters]

    def form(self) -> dict[str, Any]:
        """The definition as JSON, for the record."""
        return {
            "scenario": dict(self.scenario),
            "parameters": [
                {"keys": list(one.keys), "values": [str(value) for value in _listed(one)]}
                for one in self.parameters
            ],
            "design": self.design,
            "precision": [
                {
                    "quantity": target.quantity,
                    "half_width": target.half_width,
                    "relative": target.relative,
                }
                for target in self.targets
            ],
            "baseline": self.baseline,
            "networks": {"first": self.networks.first, "most": self.networks.most},
            "confidence": self.confidence,
            "runs": self.runs,
            "skip": self.skip,
        }


def _listed(parameter: Parameter) -> Sequence[Any]:
    values = parameter.values
    return values if isinstance(values, tuple) else (values.text(),)


def define(
    scenario: Any,
    *,
    vary: Mapping[str, Any] | None = None,
    transports: Sequence[str] | None = None,
    design: str = "grid",
    precision: Mapping[str, Any] | None = None,
    baseline: str | None = None,
    networks: int | Mapping[str, int] | None = None,
    tables: Sequence[str] = DEFAULT_TABLES,
    confidence: float = 0.95,
    runs: int | None = None,
    skip: str | None = None,
) -> Definition:
    """What is asked, checked but for what only the scenario's reader knows.

    Raises:
        HopflowError: Something is unknown or cannot be.
    """
    content = _scenario(scenario)
    if "campaign" in content:
        raise HopflowError(
            "campaign: Campaign takes scenarios; hopflow.campaign.read_campaign reads this table"
        )
    if "branch" in content:
        raise HopflowError(
            "branch: it has variants, and campaigns make no runs of these; allowed is a scenario "
            "without this table (hopflow run runs variants)"
        )
    if not isinstance(content.get("name"), str):
        raise HopflowError(
            f"name: the scenario has {content.get('name')!r}; allowed is a name: folders are "
            "called after it"
        )
    count = content.pop("seeds", None)
    if networks is None and isinstance(count, list):
        raise HopflowError(
            f"seeds: it is {count}; a campaign makes networks with the seeds from 1 on; allowed is "
            "their number, here or as `networks`"
        )
    if transports is not None:
        content["transports"] = _transports(content.get("transports", {}), transports)
    labels = list(content.get("transports", {}))
    if not labels:
        raise HopflowError("transports: the scenario has none; allowed are one or more")
    varied = parameters(vary or {})
    _check_transports(varied, labels)
    if baseline is None:
        baseline = labels[0]
    _check_settings(baseline, labels, confidence, runs)
    if skip not in (None, "invalid"):
        raise HopflowError(f'skip: it is {skip!r}; allowed is "invalid"')
    targets = _targets(precision or {})
    definition = Definition(
        scenario=content,
        parameters=varied,
        design=design,
        targets=targets,
        baseline=baseline,
        networks=_networks(networks, count, bool(targets), content),
        tables=tuple(sorted(set(tables))),
        confidence=confidence,
        runs=runs,
        skip=skip,
    )
    _check_tables(definition)
    return definition


def _check_settings(
    baseline: str, labels: Sequence[str], confidence: float, runs: int | None
) -> None:
    if baseline not in labels:
        raise HopflowError(f"baseline: it is {baseline!r}; allowed: {', '.join(labels)}")
    if not 0.5 <= confidence < 1.0:
        raise HopflowError(f"confidence: it is {confidence}; allowed is from 0.5 to below 1")
    if runs is not None and (isinstance(runs, bool) or not isinstance(runs, int) or runs < 1):
        raise HopflowError(f"runs: it is {runs!r}; allowed are whole numbers from 1 on")


@cache
def dictionary() -> list[dict[str, Any]]:
    """The tables of results and of campaigns, with their columns."""
    found: list[dict[str, Any]] = json.loads(native().dictionary())
    return found


@cache
def quantities() -> dict[str, dict[str, Any]]:
    """The quantities of a run, as the table `runs` has them."""
    runs = next(table for table in dictionary() if table["table"] == "runs")
    return {one["column"]: one for one in runs["columns"] if one["type"] == "double"}


def _scenario(scenario: Any) -> dict[str, Any]:
    import tomllib

    if isinstance(scenario, Mapping):
        found: dict[str, Any] = plain(scenario, "")
        return found
    text = str(scenario)
    if "\n" in text:
        try:
            return tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise HopflowError(f"the scenario is no TOML: {error}") from error
    return read_scenario(text)


def _transports(own: Mapping[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """Transports by label: the scenario's own, others as presets."""
    if isinstance(labels, str) or not labels:
        raise HopflowError(f"transports: it is {labels!r}; allowed is a list of names")
    return {label: own.get(label, {}) for label in labels}


def _check_transports(varied: Sequence[Parameter], labels: Sequence[str]) -> None:
    for parameter in varied:
        for key in parameter.keys:
            match = re.match(r"transports\.(?:([A-Za-z0-9_-]+)|\"([^\"]+)\")", key)
            label = match and (match[1] or match[2])
            if label is not None and label not in labels:
                raise HopflowError(
                    f"vary: {key}: there is no transport {label!r}; allowed: {', '.join(labels)}"
                )


def _targets(precision: Mapping[str, Any]) -> tuple[Target, ...]:
    known = quantities()
    found = []
    for name, given in precision.items():
        if name not in known:
            raise HopflowError(
                f"precision: there is no quantity {name!r}; allowed: {', '.join(known)}"
            )
        found.append(_target(name, given, str(known[name]["unit"])))
    return tuple(found)


_SUFFIXES = {"seconds": "_s", "bytes": "_bytes", "bytes per second": "_bytes_per_s", "": ""}


def _target(name: str, given: Any, unit: str) -> Target:
    percent = re.fullmatch(r"\s*([0-9.]+)\s*%\s*", given) if isinstance(given, str) else None
    if percent is not None and float(percent[1]) > 0.0:
        return Target(name, float(percent[1]) / 100.0, relative=True)
    found = quantity(given)
    fits = found is not None and found.suffix in (_SUFFIXES[unit], "")
    if found is None or not fits or found.base <= 0.0:
        raise HopflowError(
            f"precision: {name}: it is {given!r}; allowed are a share of the baseline's mean such "
            f'as "5 %", and a number above zero{f" in {unit}" if unit else ""}'
        )
    return Target(name, found.base)


def _networks(
    given: int | Mapping[str, int] | None, count: Any, stops: bool, scenario: Mapping[str, Any]
) -> Networks:
    """Numbers of networks; those of a file follow from how much a run simulates."""
    if given is None:
        given = {} if stops else (count if isinstance(count, int) else 10)
    if not isinstance(given, int | Mapping):
        raise HopflowError(
            f"networks: it is {given!r}; allowed are a number and a table of first and most"
        )
    asked = {"first": given, "most": given} if isinstance(given, int) else dict(given)
    for name, number in asked.items():
        if name not in ("first", "most", "batch"):
            raise HopflowError(f"networks: {name!r} is unknown; allowed: first, most, batch")
        if isinstance(number, bool) or not isinstance(number, int) or number < 1:
            raise HopflowError(f"networks: {name} is {number!r}; allowed are numbers from 1 on")
    first = asked.get("first", min(_FIRST, asked.get("most", _FIRST)))
    most = asked.get("most", max(200, first) if stops else first)
    # Rounds are multiples: with smaller files, fewer networks are made that nobody asked for.
    together = min(_together(scenario), max(1, first // 2) if stops else first)
    batch = asked.get("batch") or max(it for it in range(1, together + 1) if first % it == 0)
    if first > most or first % batch != 0:
        raise HopflowError(
            f"networks: first is {first}, most {most}, batch {batch}; allowed is first up to most, "
            "a multiple of batch"
        )
    return Networks(first, most - most % batch, batch)


_FIRST = 20
"""Networks of the first round: fewer may not show what one network in five shows."""

_TOGETHER = 20_000.0
"""Seconds of circuits that runs of a file simulate together, about: some seconds of computing."""


def _together(scenario: Mapping[str, Any]) -> int:
    """Networks that share a file: many short runs, a long one alone.

    It depends on the scenario's text only, so that files are the same on every machine.
    """
    duration = quantity(scenario.get("duration", "1 s"))
    groups = scenario.get("circuits", [{}])
    circuits = sum(map(_count, groups)) if isinstance(groups, list) else 1
    seconds = duration.base if duration is not None else 1.0
    return max(1, int(_TOGETHER / max(seconds * circuits, 1.0)))


def _count(group: Any) -> int:
    """Circuits of a group; what is no number is left to the scenario's reader, who says so."""
    found = group.get("count", 1) if isinstance(group, Mapping) else 1
    return found if isinstance(found, int) else 1


def _check_tables(definition: Definition) -> None:
    known = [table["table"] for table in dictionary() if table["table"] != "runs"]
    for table in definition.tables:
        if table not in known:
            raise HopflowError(f"tables: {table!r} is unknown; allowed: {', '.join(known)}")
    taken = {one["column"] for table in dictionary() for one in table["columns"]} | {"point"}
    for column, _ in definition.columns():
        if column in taken:
            raise HopflowError(f"vary: {column} is the name of another column; allowed is another")
