"""How far runs are, and a line that tells it."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import TextIO

Watch = Callable[[int, int, float, float], None]
"""What the compiled part calls ten times a second, with the fields of `Progress`."""


@dataclass(frozen=True)
class Progress:
    """How far runs are.

    Attributes:
        finished: Runs that are finished, in this call or before.
        planned: Runs in all.
        simulated: Seconds of simulated time that passed, in all runs together.
        whole: Seconds of simulated time that are to pass.
    """

    finished: int
    planned: int
    simulated: float
    whole: float

    @property
    def share(self) -> float:
        """The share of the simulated time that passed, from 0 to 1; 0 if nothing is planned."""
        if self.whole > 0.0:
            return min(self.simulated / self.whole, 1.0)
        return 1.0 if self.planned > 0 else 0.0


class _Line:
    """One line on a terminal or in a notebook, written over again and again."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._shown = ""

    def __call__(self, finished: int, planned: int, simulated: float, whole: float) -> None:
        if planned == 0:
            return
        now = Progress(finished, planned, simulated, whole)
        text = f"{100.0 * now.share:3.0f} %  {finished} of {planned} runs"
        if text != self._shown:
            self._stream.write(f"\r{text}")
            self._stream.flush()
            self._shown = text

    def end(self) -> None:
        """Leaves the line as it is."""
        if self._shown:
            self._stream.write("\n")
            self._stream.flush()


def is_shown() -> bool:
    """Whether somebody reads the standard error at this moment: on a terminal or in a notebook."""
    return sys.stderr.isatty() or "ipykernel" in sys.modules


def watching(
    progress: Callable[[Progress], None] | bool | None,
) -> tuple[Watch, Callable[[], None]]:
    """What to call while runs are made, and at their end.

    Args:
        progress: A function that is told how far the runs are; `True` for a line on the standard
            error, `False` for nothing, `None` for a line where somebody reads it.
    """
    if callable(progress):
        told = progress
        return lambda *now: told(Progress(*now)), lambda: None
    if progress or (progress is None and is_shown()):
        line = _Line(sys.stderr)
        return line, line.end
    return lambda *_: None, lambda: None
