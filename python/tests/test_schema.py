"""The schema of scenarios says of texts what their reader does."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from hopflow import Campaign, HopflowError

SCHEMA = Path(__file__).parents[2] / "scenarios" / "scenario.schema.json"

TEXTS = {
    "delay": ["5 ms", "5ms", " 0.5 s ", "5_0. ms", "+5 ms", "-5 ms", "-0 s", ".5 s", "_5 s", "5"],
    "queue": ["100 packets", "100packets", " 1  packets ", "+100 packets", "-1 packets", "packets"],
}


def patterns(schema: Any) -> list[str]:
    """The patterns of a schema, and of the schemas in it."""
    if isinstance(schema, list):
        return [pattern for inner in schema for pattern in patterns(inner)]
    if not isinstance(schema, dict):
        return []
    own = [schema["pattern"]] if isinstance(schema.get("pattern"), str) else []
    return own + [pattern for inner in schema.values() for pattern in patterns(inner)]


def is_read(tiny: dict[str, Any], key: str, text: str) -> bool:
    """Whether a scenario with this text can be run."""
    try:
        return not Campaign(tiny, vary={f"network.access.{key}": [text]}).left_out
    except HopflowError:
        return False


@pytest.mark.parametrize(
    ("key", "definition"), [("delay", "a time, fixed or drawn"), ("queue", "Queue")]
)
def test_the_schema_allows_the_texts_that_are_read(
    tiny: dict[str, Any], key: str, definition: str
) -> None:
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))["$defs"][definition]
    (pattern,) = set(patterns(schema))
    for text in TEXTS[key]:
        assert is_read(tiny, key, text) == (re.search(pattern, text) is not None), text
