"""Scenarios as Python reads them: dicts in which files have absolute names."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

from hopflow._binding import native
from hopflow._errors import HopflowError

NAMES_OF_FILES = frozenset({"replay", "circuits", "graph", "model", "table"})
"""Keys of scenarios whose text is the name of a file."""


def read_scenario(name: str) -> dict[str, Any]:
    """A scenario: a built-in one, or a file; files beside it are named by absolute paths.

    Raises:
        HopflowError: There is neither, or it is no TOML.
    """
    text, path = native().scenario_text(name), Path(name)
    try:
        if text is not None:
            return tomllib.loads(text)
        content = tomllib.loads(path.read_text(encoding="utf-8"))
    except tomllib.TOMLDecodeError as error:
        raise HopflowError(f"{name} is no TOML: {error}") from error
    except (OSError, UnicodeDecodeError) as error:
        raise HopflowError(
            f"cannot read the scenario {name}: {error}; neither a file nor built in; "
            f"allowed: {', '.join(scenario for scenario, _ in native().scenarios())}"
        ) from error
    return place_files(content, path.absolute().parent)


def place_files(scenario: dict[str, Any], folder: Path) -> dict[str, Any]:
    """A scenario in which files that lie in a folder have absolute names."""
    return {key: _placed(key, value, folder) for key, value in scenario.items()}


def _placed(key: str, value: Any, folder: Path) -> Any:
    if isinstance(value, dict):
        return {inner: _placed(inner, some, folder) for inner, some in value.items()}
    if isinstance(value, list):
        return [_placed(key, some, folder) for some in value]
    if isinstance(value, str) and _names_files(key):
        if (folder / value).is_file():
            return str(folder / value)
        if "." in key and "," in value:
            return [_placed(key, part.strip(), folder) for part in value.split(",")]
    return value


def _names_files(key: str) -> bool:
    """Whether a key's values are files; keys of `vary` are paths, with `=` between."""
    return any(path.strip().rpartition(".")[2] in NAMES_OF_FILES for path in key.split("="))
