"""Files that others see complete or not at all."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


def replace(path: Path, content: bytes) -> None:
    """Writes a file in one step, in place of one of the same name; its folder is made if needed.

    Raises:
        OSError: It cannot be written.
    """
    with _partial(path, content) as partial:
        partial.replace(path)


def create(path: Path, content: bytes) -> None:
    """As `replace`, but a file of the same name stays, also where two do this at the same time.

    Raises:
        OSError: It cannot be written.
    """
    with _partial(path, content) as partial:
        try:
            os.link(partial, path)
        except FileExistsError:
            return
        except OSError:
            # A file system without links cannot tell who came first.
            if not path.exists():
                partial.replace(path)


@contextmanager
def _partial(path: Path, content: bytes) -> Iterator[Path]:
    """The content under a hidden name, which is gone at the end."""
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(hidden(path.name))
    try:
        partial.write_bytes(content)
        yield partial
    finally:
        partial.unlink(missing_ok=True)


def hidden(name: str) -> str:
    """A name of a file in the making, which nobody else has, and which no reader takes for data."""
    return f".{name}.{uuid.uuid4().hex[:8]}"
