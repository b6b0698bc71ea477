"""What a campaign's folder holds beside the runs: what it is, what was asked, what was found.

CAMPAIGN/campaign.json                what all its runs have in common; others are refused
CAMPAIGN/requests/HASH.json           what was asked, each time
CAMPAIGN/data/runs/point=ID/*.parquet a row per run: parameters, quantities
CAMPAIGN/data/TABLE/point=ID/*.parquet  the tables of the runs that are kept
CAMPAIGN/data/dictionary.json         what tables and columns hold
CAMPAIGN/data/manifest.json           points, decisions and hashes of the last request
CAMPAIGN/report.html                  the report of a local campaign
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from hopflow._errors import HopflowError
from hopflow.campaign.definition import Definition, dictionary
from hopflow.campaign.points import Point
from hopflow.campaign.rounds import State
from hopflow.campaign.stopping import Difference
from hopflow.campaign.storage import Store

FORMAT = 2
CAMPAIGN = "campaign.json"
MANIFEST = "data/manifest.json"
DICTIONARY = "data/dictionary.json"


def common(definition: Definition, build: str) -> dict[str, Any]:
    """What all runs of a campaign's folder have in common."""
    return {
        "format": FORMAT,
        "name": definition.name,
        "build": build,
        "parameters": [
            {"keys": list(parameter.keys), "column": column, "type": kind}
            for parameter, (column, kind) in zip(
                definition.parameters, definition.columns(), strict=True
            )
        ],
        "tables": list(definition.tables),
        "batch": definition.networks.batch,
        "world": _digest({**definition.scenario, "transports": {}, "about": ""}),
    }


def batch(store: Store) -> int | None:
    """The batch of the folder's campaign; `None`: it holds none that can be read.

    What is wrong with a folder is told by `claim`.
    """
    try:
        content = store.read(CAMPAIGN)
        found = None if content is None else parsed(store, CAMPAIGN, content).get("batch")
    except HopflowError:
        return None
    return found if type(found) is int and found > 0 else None


Contents = Mapping[str, Mapping[str, str]]
"""By point and transport, the hash of what runs are made from, which includes named files."""


def claim(store: Store, definition: Definition, build: str, contents: Contents) -> None:
    """Makes the folder that of the campaign, and notes what is asked.

    Of two who begin different campaigns in it at the same time, at most one gets it.

    Raises:
        HopflowError: The folder holds another campaign, or something else.
    """
    wanted = common(definition, build)
    if store.read(CAMPAIGN) is None and not store.names(""):
        store.create(CAMPAIGN, _json(wanted))
    found = store.read(CAMPAIGN)
    if found is None:
        raise HopflowError(
            f"{store.url} holds something else, which is left as it is; allowed is a folder "
            "that is new, empty, or holds the same campaign: choose another (`out`)"
        )
    asked = _request(definition, contents)
    try:
        _check_same(store, parsed(store, CAMPAIGN, found), wanted)
        _check_requests(store, asked)
    except HopflowError as error:
        if any(name.endswith(".parquet") for name in store.names("data")):
            raise
        raise HopflowError(
            f"{error}. No run was made in it: if nobody is at work there, it can be removed"
        ) from error
    name = f"requests/{_digest(asked)}.json"
    if store.read(name) is None:
        store.write(name, _json(asked))
        try:
            # Who asks at the same time either sees this request or is seen here.
            _check_requests(store, asked)
        except HopflowError:
            store.remove(name)
            raise
    store.write(DICTIONARY, _json(described(definition)))


def parsed(store: Store, name: str, content: bytes, kind: type = dict) -> Any:
    """What a JSON file of the folder says.

    Args:
        store: The folder.
        name: The file.
        content: Its content.
        kind: The type of what it holds.

    Raises:
        HopflowError: It is no JSON, or holds something of another type.
    """
    try:
        found = json.loads(content)
        problem = f"it holds {str(found)[:40]!r}"
    except ValueError as error:
        found, problem = None, f"it is no JSON: {error}"
    if not isinstance(found, kind):
        raise HopflowError(
            f"{store.path(name)} is damaged: {problem}; allowed is the file as a campaign wrote it"
        )
    return found


def _request(definition: Definition, contents: Contents) -> dict[str, Any]:
    return {**definition.form(), "contents": {point: dict(of) for point, of in contents.items()}}


_WHAT = {
    "format": "another format",
    "name": "the campaign of another scenario",
    "build": "runs of another build of hopflow",
    "parameters": "a campaign over other parameters",
    "tables": "a campaign that keeps other tables",
    "batch": "files of another number of networks (`networks`: batch)",
    "world": "a campaign of another scenario of this name",
}


def _check_same(store: Store, found: dict[str, Any], wanted: dict[str, Any]) -> None:
    for key, what in _WHAT.items():
        if found.get(key) != wanted[key]:
            shown = "" if key == "world" else f" ({found.get(key)!r}, this is {wanted[key]!r})"
            raise HopflowError(
                f"{store.url} holds {what}{shown}, which is left as it is; allowed is another "
                "folder (`out`), or the same with other values, transports and precision"
            )


def _check_requests(store: Store, asked: dict[str, Any]) -> None:
    """Requests may add to each other, and mean the same by a label, and by a label at a point.

    Tables tell transports by labels, and runs by labels and points.
    """
    for name in sorted(store.names("requests")):
        before = parsed(store, name, store.read(name) or b"{}")
        others = before.get("scenario", {}).get("transports", {})
        for label, choice in asked["scenario"]["transports"].items():
            if label in others and others[label] != choice:
                raise HopflowError(
                    f"{store.url} holds runs of the transport {label!r} with other options "
                    f"({others[label]}, this is {choice}; see {name}); allowed is another label or "
                    "folder"
                )
        for point, of in before.get("contents", {}).items():
            here = asked["contents"].get(point, {})
            for label in sorted(of.keys() & here.keys()):
                if of[label] != here[label]:
                    raise HopflowError(
                        f"{store.url} is for runs of {label!r} that are made from other files: one "
                        f"that the scenario names has changed since (see {name}); allowed is the "
                        "file as it was, or another folder (`out`)"
                    )


def described(definition: Definition) -> list[dict[str, Any]]:
    """The dictionary of the campaign's tables, with the columns of its parameters."""
    point = {
        "column": "point",
        "type": "text",
        "unit": "",
        "optional": False,
        "about": "The point of the campaign: the folder of the file says it.",
    }
    columns = [point]
    for parameter, (column, kind) in zip(definition.parameters, definition.columns(), strict=True):
        about = f"The value of {' and '.join(parameter.keys)}."
        columns.append(
            {
                "column": column,
                "type": kind,
                "unit": _unit(column),
                "optional": False,
                "about": about,
            }
        )
    kept = {"runs", *definition.tables}
    return [
        {**table, "columns": columns + table["columns"]}
        for table in dictionary()
        if table["table"] in kept
    ]


def _unit(column: str) -> str:
    units = {"_bytes_per_s": "bytes per second", "_bytes": "bytes", "_packets": "packets"}
    units["_s"] = "seconds"
    return next((unit for suffix, unit in units.items() if column.endswith(suffix)), "")


def write_manifest(store: Store, state: State, left_out: Sequence[tuple[Point, str]]) -> None:
    """Writes what was found: the same bits for the same runs."""
    definition = state.definition
    points = [
        {
            "point": point.id,
            "parameters": dict(point.parameters),
            "networks": state.networks(point),
            "decided": state.is_decided(point),
            "differences": [_difference(one) for one in state.differences.get(point.id, [])],
        }
        for point in state.points
    ]
    found = {
        "format": FORMAT,
        "request": _digest(_request(definition, state.contents)),
        "complete": not state.lost,
        "baseline": definition.baseline,
        "transports": definition.transports,
        "confidence": definition.confidence,
        "points": points,
        "left_out": [
            {"point": point.id, "parameters": dict(point.parameters), "reason": reason}
            for point, reason in left_out
        ],
        "failures": state.failures(),
        "results": results_hash(state),
    }
    store.write(MANIFEST, _json(found))


def _difference(one: Difference) -> dict[str, Any]:
    def finite(number: float) -> float | None:
        return number if abs(number) < float("inf") else None

    return {
        "quantity": one.target.quantity,
        "transport": one.transport,
        "networks": one.interval.n,
        "mean": finite(one.interval.mean),
        "half_width": finite(one.interval.half_width),
        "baseline": finite(one.baseline),
        "asked": one.target.half_width,
        "relative": one.target.relative,
        "decided": one.decided,
    }


def results_hash(state: State) -> str:
    """The hash of the results of all runs, the same wherever and whenever they were made."""
    hasher = hashlib.blake2b(digest_size=8)
    for point in state.points:
        for transport in state.definition.transports:
            for name, chunk in state.chunks(point, transport):
                hasher.update("\n".join((name, *chunk.results, "")).encode())
    return hasher.hexdigest()


def _digest(value: Any) -> str:
    text = json.dumps(value, sort_keys=True, default=str)
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _json(value: Any) -> bytes:
    return (json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n").encode()
