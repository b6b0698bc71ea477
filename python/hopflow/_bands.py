"""The bands of the experiments that are made in Python: `bands.toml`."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources


@dataclass(frozen=True)
class Band:
    """What the paper says of a value.

    Attributes:
        paper: Its value, where it states one.
        low: The lower end of the band within which ours counts as it; `None`: there is none.
        high: The upper end.
    """

    paper: float | None = None
    low: float | None = None
    high: float | None = None


def band(figure: str, quantity: str) -> Band:
    """The band of a quantity; one without ends if nothing is judged of it."""
    return _bands().get((figure, quantity), Band())


@functools.cache
def _bands() -> Mapping[tuple[str, str], Band]:
    text = resources.files("hopflow").joinpath("bands.toml").read_text(encoding="utf-8")
    return {
        (entry["figure"], entry["quantity"]): Band(
            entry.get("paper"), entry.get("low"), entry.get("high")
        )
        for entry in tomllib.loads(text)["band"]
    }
