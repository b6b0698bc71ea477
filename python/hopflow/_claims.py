"""Folders that hold the results of an experiment that is made in Python."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

from hopflow._errors import HopflowError

MARKER = "experiment.json"
"""What claims a folder for the results of an experiment."""


def claimed_for(folder: Path) -> str | None:
    """The experiment that a folder is claimed for; `None`: for none.

    Raises:
        HopflowError: The marker cannot be read.
    """
    marker = folder / MARKER
    if not marker.is_file():
        return None
    try:
        found: Any = json.loads(marker.read_text(encoding="utf-8"))
        return str(found["experiment"])
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise HopflowError(
            f"{marker} cannot be read: {error!r}; allowed is what names an experiment"
        ) from error


_MAKING: ContextVar[frozenset[Path]] = ContextVar("_MAKING", default=frozenset())


def being_made(folder: Path) -> bool:
    """Whether the experiment that a folder is claimed for is being made here and now."""
    return folder.absolute() in _MAKING.get()


@contextlib.contextmanager
def claim(folder: Path, name: str) -> Iterator[None]:
    """Claims a folder while an experiment is made; takes the claim back if nothing was made.

    Raises:
        HopflowError: The folder holds anything but results of the same experiment, or cannot be
            used.
    """
    is_new = not folder.exists()
    _occupy(folder, name)
    token = _MAKING.set(_MAKING.get() | {folder.absolute()})
    try:
        yield
    finally:
        _MAKING.reset(token)
        with contextlib.suppress(OSError):
            if [path.name for path in folder.iterdir()] == [MARKER]:
                (folder / MARKER).unlink()
                if is_new:
                    folder.rmdir()


def _occupy(folder: Path, name: str) -> None:
    found = claimed_for(folder)
    try:
        occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if occupied and found != name:
            raise HopflowError(
                f"{folder} holds something else, which is left as it is; allowed is a folder that "
                f"is new, empty, or holds results of {name}: choose another (`out`)"
            )
        folder.mkdir(parents=True, exist_ok=True)
        (folder / MARKER).write_text(json.dumps({"experiment": name}) + "\n", encoding="utf-8")
    except OSError as error:
        raise HopflowError(f"the folder {folder} cannot be used: {error}") from error
