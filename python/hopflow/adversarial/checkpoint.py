"""Checkpoints: files from which training goes on as if it had not been interrupted."""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from flax import serialization

from hopflow import _files
from hopflow._errors import HopflowError
from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.convolutional import Stage
from hopflow.adversarial.optimisers import Momentum
from hopflow.adversarial.settings import State

_FORMAT = 1

RECIPE = 1
"""Raised by hand where training the same game from the same seed gives other nets than before."""


class CheckpointError(HopflowError):
    """A checkpoint that cannot be used; the message names the file."""


def fingerprint(game: Game) -> str:
    """A hash of the nets and settings: a state belongs to games with the same one."""
    return hashlib.sha256(_written(game).encode()).hexdigest()[:16]


_RULE = Momentum(rate=0.1, decay=1.000004, floor=1e-6, first=0.5, last=0.7, grows=(1, 250))
_STAGES = (
    Stage(32, kernel=8, pad=4, pool=4, keep=0.8, pieces=2, stride=2),
    Stage(32, kernel=8, pad=3, pool=4, keep=0.5, pieces=2, stride=2),
    Stage(192, kernel=5, pad=3, pool=2, keep=0.5, pieces=2, stride=2),
)
_LEFT_OUT: Mapping[str, Mapping[str, Any]] = {
    "Game": {"conditions": 0},
    "Settings": {
        "batch": 100,
        "steps": 1,
        "schedule": "alternating",
        "loss": "non-saturating",
        "penalty": None,
        "noise": "uniform",
        "noise_size": 100,
        "discriminator_scale": 0.5,
        "average": 0.0,
        "generator_rule": _RULE,
        "discriminator_rule": _RULE,
    },
    "Momentum": {field.name: getattr(_RULE, field.name) for field in dataclasses.fields(_RULE)},
    "Adam": {"rate": 1e-4, "b1": 0.5, "b2": 0.9},
    "Layer": {"scale": None, "pieces": 1, "bias": 0.0, "keep": 1.0},
    "Stage": {"keep": 0.5, "pieces": 2, "stride": 2},
    "ConvolutionalGenerator": {"side": 10, "kernel": 5, "stride": 3, "scale": 0.05, "colours": 3},
    "ConvolutionalDiscriminator": {"stages": _STAGES, "scale": 0.005},
}
"""By class, the values of fields that a game's text leaves out, so that checkpoints stay valid.

They are no defaults: a default that changes changes the text of games that have it. A field that is
added stands here with the value that all games had before.
"""


def _written(value: Any) -> str:
    """A value as text."""
    if isinstance(value, tuple):
        return f"({','.join(map(_written, value))})"
    if not dataclasses.is_dataclass(value):
        return repr(value)
    name = type(value).__name__
    # Flax gives modules within others a name.
    left_out = {"name": None, **_LEFT_OUT.get(name, {})}
    parts = [
        f"{field.name}={_written(found)}"
        for field in dataclasses.fields(value)
        if field.init
        and field.repr
        and ((found := getattr(value, field.name)) != left_out.get(field.name, _NOTHING))
    ]
    return f"{name}({','.join(parts)})"


_NOTHING = object()


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
        "recipe": RECIPE,
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
    if content.get("recipe", 1) != RECIPE:
        raise CheckpointError(
            f"{path}: was made by another version of hopflow, which trains otherwise; remove it or "
            "choose another folder"
        )
    if game_ != fingerprint(game):
        raise CheckpointError(
            f"{path}: was made with other nets or settings; remove it or choose another folder"
        )
    state = serialization.from_state_dict(game.start(0), content["state"])
    return state, notes
