"""Where data files are: those that hopflow needs but does not hold."""

from __future__ import annotations

import os
from pathlib import Path

from hopflow._errors import HopflowError

VARIABLE = "HOPFLOW_DATA"
"""The environment variable that names the folder of the data files."""


def cache() -> Path:
    """The folder for downloads: `hopflow` in the user's folder for caches."""
    base = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(base) / "hopflow"


def places(folder: Path | None) -> list[Path]:
    """Where files are looked for: `folder`, or without one `HOPFLOW_DATA` and the cache."""
    if folder is not None:
        return [Path(folder)]
    named = os.environ.get(VARIABLE)
    return [Path(named), cache()] if named else [cache()]


def find(name: str, folder: Path | None) -> Path:
    """A data file: in one of the `places`, or in a folder directly below one.

    Args:
        name: The file's name, perhaps with folders before it.
        folder: Where it is; `None`: where `HOPFLOW_DATA` says, or else in the cache.

    Raises:
        HopflowError: There is none; the message names all places.
    """
    looked = places(folder)
    for place in looked:
        for path in (place / name, *sorted(place.glob(f"*/{name}"))):
            if path.is_file():
                return path
    raise HopflowError(
        f"{name} is missing; looked in {', '.join(map(str, looked))} and in folders directly below "
        f"(an argument or --data names a folder, else the environment variable {VARIABLE})"
    )
