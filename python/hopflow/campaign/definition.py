"""What a campaign is: a scenario, what is varied, and when to stop."""

from __future__ import annotations

import json
import math
import numbers
import os
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from hopflow._binding import native
from hopflow._errors import HopflowError
from hopflow._runs import plain
from hopflow._scenario import read_scenario
from hopflow.campaign.design import Parameter, parameters
from hopflow.campaign.keys import segments
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

    def in_files_of(self, batch: int) -> Networks:
        """The same with so many networks in a file: as few more as possible in the first round."""
        first = self.first + -self.first % batch
        return Networks(first, max(first, self.most - self.most % batch), batch)


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
    check_type("vary", vary)
    check_type("precision", precision)
    check_type("transports", transports)
    check_type("design", design)
    check_type("tables", tables)
    check_type("confidence", confidence)
    content = _scenario(scenario)
    _check_scenario(content)
    count = content.pop("seeds", None)
    _check_seeds(count, networks is not None)
    if transports is not None:
        content["transports"] = _transports(content.get("transports", {}), transports)
    labels = list(content.get("transports", {}))
    if not labels:
        raise HopflowError("transports: the scenario has none; allowed are one or more")
    varied = parameters(vary or {})
    _check_keys(varied, labels)
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
        confidence=float(confidence),
        runs=runs,
        skip=skip,
    )
    _check_tables(definition)
    return definition


def _is_table(value: Any) -> bool:
    return isinstance(value, Mapping) and all(isinstance(key, str) for key in value)


def _are_names(value: Any) -> bool:
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    return is_list and all(isinstance(name, str) for name in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, numbers.Real) and not isinstance(value, bool)


_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "vary": (
        lambda value: value is None or _is_table(value),
        'a table of values by key, such as "circuits[0].count" = "2..6"',
    ),
    "precision": (
        lambda value: value is None or _is_table(value),
        'a table of widths by quantity, such as web_ttlb_median = "5 %"',
    ),
    "transports": (
        lambda value: value is None or _are_names(value),
        'a list of names, such as ["vanilla", "backtap"]',
    ),
    "design": (lambda value: isinstance(value, str), 'text, such as "grid" or "sobol:64"'),
    "tables": (_are_names, f"a list of names, such as {json.dumps(DEFAULT_TABLES)}"),
    "confidence": (_is_number, "a number from 0.5 to below 1"),
    "hours": (
        lambda value: value is None or (_is_number(value) and 0.0 < value < math.inf),
        "a number above zero",
    ),
    "out": (
        lambda value: value is None or isinstance(value, str | os.PathLike),
        "a folder or a URL",
    ),
}


def check_type(name: str, value: Any) -> None:
    """Checks that an option of a campaign is of its type.

    Raises:
        HopflowError: It is not; the message says what is allowed.
    """
    fits, allowed = _TYPES[name]
    if not fits(value):
        raise HopflowError(f"{name}: it is {value!r}; allowed is {allowed}")


def _check_scenario(content: Mapping[str, Any]) -> None:
    """Refuses scenarios that are none of a campaign."""
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
    if not isinstance(content.get("transports", {}), Mapping):
        raise HopflowError(
            f"transports: the scenario has {content['transports']!r}; allowed are tables such as "
            "[transports.vanilla]"
        )


def _check_seeds(seeds: Any, is_replaced: bool) -> None:
    """Refuses seeds of a scenario that are none, and lists unless `networks` says how many."""
    if isinstance(seeds, list) and not is_replaced:
        raise HopflowError(
            f"seeds: it is {seeds}; a campaign makes networks with the seeds from 1 on; allowed is "
            "their number, here or as `networks`"
        )
    if seeds is None:
        return
    listed, least = (seeds, 0) if isinstance(seeds, list) else ([seeds], 1)
    known = [it for it in listed if type(it) is int and it >= least]
    if not known or len(known) < len(listed):
        raise HopflowError(
            f"seeds: it is {seeds!r}; allowed is a number of networks from 1 on (with `networks` "
            "also a list of seeds, which is not used)"
        )


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

    file = ""
    if isinstance(scenario, Mapping):
        content: Mapping[str, Any] = scenario
    elif "\n" in str(scenario):
        try:
            content = tomllib.loads(str(scenario))
        except tomllib.TOMLDecodeError as error:
            raise HopflowError(f"the scenario is no TOML: {error}") from error
    else:
        content, file = read_scenario(str(scenario)), f"{scenario}: "
    try:
        found: dict[str, Any] = plain(content, "")
    except HopflowError as error:
        raise HopflowError(f"{file}{error}") from error
    return found


def _transports(own: Mapping[str, Any], labels: Sequence[str]) -> dict[str, Any]:
    """Transports by label: the scenario's own, others as presets."""
    if not labels:
        raise HopflowError(f"transports: it is {labels!r}; allowed is a list of names")
    for label in labels:
        if labels.count(label) > 1:
            raise HopflowError(f"transports: {label!r} is listed twice; allowed is once")
    return {label: own.get(label, {}) for label in labels}


_NOT_VARIED = {
    "seeds": "campaigns make networks with the seeds from 1 on; allowed is their number "
    "as `networks`",
    "branch": "campaigns make no runs of variants; allowed are other keys",
}


def _check_keys(varied: Sequence[Parameter], labels: Sequence[str]) -> None:
    """Refuses keys that play no part in a campaign, and those of transports that it has not."""
    for parameter in varied:
        for key in parameter.keys:
            reason = _NOT_VARIED.get(segments(key)[0])
            if reason is not None:
                raise HopflowError(f"vary: {key}: {reason}")
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


_PERCENT = re.compile(r"\s*([0-9]+\.?[0-9]*|\.[0-9]+)\s*%\s*")


def _target(name: str, given: Any, unit: str) -> Target:
    percent = _PERCENT.fullmatch(given) if isinstance(given, str) else None
    if percent is not None and 0.0 < float(percent[1]) < math.inf:
        return Target(name, float(percent[1]) / 100.0, relative=True)
    found = quantity(given)
    fits = found is not None and found.suffix in (_SUFFIXES[unit], "")
    if found is None or not fits or not 0.0 < found.base < math.inf:
        of = f" in {unit}, without exponent" if unit else ""
        raise HopflowError(
            f"precision: {name}: it is {given!r}; allowed are a share of the baseline's mean such "
            f'as "5 %", and a finite number above zero{of}'
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
