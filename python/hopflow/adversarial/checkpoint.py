"""Checkpoints: files from which training goes on as if it had not been interrupted."""

from __future__ import annotations

import dataclasses
import hashlib
from pathlib import Path
from typing import Any

from flax import serialization

from hopflow import _files
from hopflow._errors import HopflowError
from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.settings import State

_FORMAT = 1


class CheckpointError(HopflowError):
    """A checkpoint that cannot be used; the message names the file."""


def fingerprint(game: Game) -> str:
    """A hash of the nets and settings: a state belongs to games with the same one."""
    return hashlib.sha256(_written(game).encode()).hexdigest()[:16]


def _written(value: Any) -> str:
    """A value as text, without fields at their defaults: new ones change no older game's text."""
    if isinstance(value, tuple):
        return f"({','.join(map(_written, value))})"
    if not dataclasses.is_dataclass(value):
        return repr(value)
    parts = [
        f"{field.name}={_written(found)}"
        for field in dataclasses.fields(value)
        if field.init and field.repr and (found := getattr(value, field.name)) != _default(field)
    ]
    return f"{type(value).__name__}({','.join(parts)})"


def _default(field: dataclasses.Field[Any]) -> Any:
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default


def save(path: Path, game: Game, state: State, notes: dict[str, Any] | None = None) -> None:
    """Writes a checkpoint; an older one is replaced only when the new one is complete.

    Args:
        path: The file.
        game: What is played.
        state: What is kept.
        notes: What to keep beside it: numbers, text, lists and dictionaries of them.
    """
    content = {
        "format": _FORMAT,
        "game": fingerprint(game),
        "notes": notes or {},
        "state": serialization.to_state_dict(state),
    }
    _files.replace(path, serialization.msgpack_serialize(content))


def load(path: Path, game: Game) -> tuple[State, dict[str, Any]]:
    """The state and the notes of a checkpoint.

    Raises:
        CheckpointError: The file is none, or belongs to another game.
        OSError: It cannot be read.
    """
    try:
        content = serialization.msgpack_restore(path.read_bytes())
        format_, game_, notes = content["format"], content["game"], content["notes"]
    except OSError:
        raise
    except Exception as error:
        raise CheckpointError(f"{path}: not a checkpoint ({error})") from error
    if format_ != _FORMAT:
        raise CheckpointError(f"{path}: format {format_}; known is {_FORMAT}")
    if game_ != fingerprint(game):
        raise CheckpointError(
            f"{path}: was made with other nets or settings; remove it or choose another folder"
        )
    state = serialization.from_state_dict(game.start(0), content["state"])
    return state, notes
