"""How far a campaign is, for people: a line that changes, and lines that stay."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from hopflow.campaign.chunks import Made
from hopflow.campaign.pools import Ordered
from hopflow.progress import is_shown


@dataclass(frozen=True)
class CampaignProgress:
    """How far a campaign is.

    Attributes:
        round: The round, from 1 on.
        made: Runs of this round that are made.
        planned: Runs of this round that were to be made.
        decided: Points of which everything is known that was asked, before this round.
        points: Points in all.
        left: Estimated seconds until the end of the round; `None` while nothing is known.
        of: What `decided` and `points` count.
    """

    round: int
    made: int
    planned: int
    decided: int
    points: int
    left: float | None
    of: str = "points decided"

    @property
    def text(self) -> str:
        """The line."""
        share = 100.0 * self.made / self.planned if self.planned else 100.0
        full = int(share / 5.0)
        bar = "█" * full + "░" * (20 - full)
        left = "" if self.left is None else f", {duration(self.left)} left"
        return (
            f"round {self.round} {bar} {share:3.0f} %  {self.made} of {self.planned} runs{left}; "
            f"{self.decided} of {self.points} {self.of}"
        )


_GLANCE = 0.2
"""Seconds between two forms of the line."""

Told = Callable[[CampaignProgress], None]


def duration(seconds: float) -> str:
    """A time for people."""
    if seconds < 90.0:
        return f"{seconds:.0f} s"
    if seconds < 5400.0:
        return f"{seconds / 60.0:.0f} min"
    return f"{seconds / 3600.0:.1f} h"


class Watch:
    """Tells how far a campaign is, on the standard error or to a function."""

    def __init__(self, progress: Told | bool | None) -> None:
        """A watch; `progress` is as for `hopflow.run`."""
        self._told = progress if callable(progress) else None
        self._line = progress is True or (progress is None and is_shown())
        self._lines = self._line or progress is None
        self._shown = 0
        self._begun = 0.0
        self._now = CampaignProgress(0, 0, 0, 0, 0, None)
        self._last = 0.0

    def begin(self, now: CampaignProgress) -> None:
        """A round begins."""
        self._begun = time.monotonic()
        self._now = now
        self._tell()

    def made(self, order: Ordered, made: Made) -> None:
        """What was ordered was made."""
        now = self._now
        done = now.made + made.runs
        passed = time.monotonic() - self._begun
        left = passed / done * (now.planned - done) if done else None
        self._now = replace(now, made=done, left=left)
        for seed, error in made.failures:
            self.say(f"failed: {order.about} with seed {seed}: {error}")
        self._tell()

    def lost(self, order: Ordered, error: Exception) -> None:
        """Nothing could be made of an order."""
        reason = str(error).strip() or type(error).__name__
        self.say(f"failed: {order.about} with {order.seeds}: {reason}")

    def say(self, text: str) -> None:
        """A line that stays."""
        if self._lines:
            sys.stderr.write(f"\r{text:<{self._shown}}\n" if self._shown else f"{text}\n")
            sys.stderr.flush()
            self._shown = 0

    def end(self) -> None:
        """Leaves the line as it is."""
        if self._shown:
            sys.stderr.write("\n")
            sys.stderr.flush()
            self._shown = 0

    def _tell(self) -> None:
        if self._told is not None:
            self._told(self._now)
        done = self._now.made == self._now.planned
        if self._line and (done or time.monotonic() - self._last > _GLANCE):
            self._last = time.monotonic()
            text = self._now.text
            sys.stderr.write(f"\r{text:<{self._shown}}")
            sys.stderr.flush()
            self._shown = len(text)
