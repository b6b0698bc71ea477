"""Whether a Dask cluster still has workers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from hopflow._errors import HopflowError

GLANCE = 5.0
"""Seconds between two looks at the workers."""

PAUSE = 30.0
"""Seconds without workers after which that is told: those that die are started anew in less."""

PATIENCE = 86400.0
"""Seconds without workers after which a cluster that had some is given up."""


class Workers:
    """The workers of a client's cluster.

    Batch systems end jobs at their walltime, and Dask begins none in their place: who waits for a
    task then waits for ever.
    """

    def __init__(self, client: Any, say: Callable[[str], None]) -> None:
        """The workers of a client; `say` tells a line to people."""
        self._client = client
        self._say = say
        self._looked = -GLANCE
        self._had = False
        self._is_told = False
        # Since when there has been no worker.
        self._none: float | None = None

    def look(self) -> None:
        """Looks at the workers, if that was not done just now; called while tasks run.

        Raises:
            HopflowError: There were workers, and there have been none for a day.
        """
        now = time.monotonic()
        if now - self._looked < GLANCE:
            return
        self._looked = now
        if self._client.nthreads():
            self._had, self._none, self._is_told = True, None, False
            return
        self._none = now if self._none is None else self._none
        if self._had and now - self._none > PATIENCE:
            raise HopflowError(
                f"no worker has been there for {PATIENCE / 3600:.0f} hours; what is made is kept, "
                "and the same call goes on"
            )
        if now - self._none > PAUSE and not self._is_told:
            self._is_told = True
            self._say(
                "there is no worker: waiting for one. What is made is kept; Ctrl-C ends this, and "
                "the same call goes on"
            )
