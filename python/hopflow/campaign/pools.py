"""What makes chunks: the cores of this machine, or a Dask cluster."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from typing import Any, Protocol

from hopflow._errors import HopflowError
from hopflow.campaign.chunks import Made, Order, Setting, check_build, identity, make

Outcome = tuple[Order, Made | Exception]
"""An order, with what was made of it or why nothing was."""


class Pool(Protocol):
    """Makes chunks in any order."""

    @property
    def cores(self) -> int:
        """Chunks that are made at the same time."""

    @property
    def about(self) -> str:
        """What it is, for people."""

    def outcomes(self, orders: Sequence[Order], setting: Setting) -> Iterator[Outcome]:
        """Makes chunks; tells each when it is done."""


class LocalPool:
    """The cores of this machine: a thread each, which the simulator keeps busy."""

    def __init__(self, cores: int | None = None) -> None:
        """A pool of so many cores; by default all that this process may use."""
        self._cores = cores or len(os.sched_getaffinity(0))

    @property
    def cores(self) -> int:
        """Chunks that are made at the same time."""
        return self._cores

    @property
    def about(self) -> str:
        """What it is, for people."""
        return f"{self._cores} core{'s' if self._cores > 1 else ''} of this machine"

    def outcomes(self, orders: Sequence[Order], setting: Setting) -> Iterator[Outcome]:
        """Makes chunks; Ctrl-C ends it soon."""
        stop = threading.Event()
        with ThreadPoolExecutor(self._cores) as executor:
            futures = {executor.submit(make, order, setting, stop): order for order in orders}
            try:
                while futures:
                    done, _ = wait(futures, return_when=FIRST_COMPLETED)
                    for future in done:
                        yield futures.pop(future), _outcome(future)
            except BaseException:
                stop.set()
                executor.shutdown(cancel_futures=True)
                raise


def _outcome(future: Future[Made]) -> Made | Exception:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Exception):
        return error
    raise error


def make_all(orders: Sequence[Order], setting: Setting) -> list[Made]:
    """The task of a worker: several chunks, one after the other."""
    return [make(order, setting) for order in orders]


SECONDS = 10.0
"""What a task lasts, about: long enough that the scheduler's milliseconds do not count."""

AHEAD = 3
"""Tasks that wait or run, for each core: the scheduler's memory does not grow with the campaign."""

_GLANCE = 1.0
"""Seconds between two questions for the number of workers."""

RETRIES = 2
"""How often a task that fails is tried again. That of a worker that dies goes to another anyway."""


class DaskPool:
    """A Dask cluster. Results are written by its workers; their sizes pass through here."""

    def __init__(self, client: Any) -> None:
        """The cluster of a client.

        Raises:
            HopflowError: A worker has another build of hopflow.
        """
        self._client = client
        self._seconds: dict[tuple[str, str], float] = {}
        self._counted = (-_GLANCE, 1)
        _refuse_other_builds(client)

    @property
    def cores(self) -> int:
        """Threads of all workers that are there; asked for now and then."""
        when, count = self._counted
        if time.monotonic() - when > _GLANCE:
            count = max(1, int(sum(self._client.nthreads().values())))
            self._counted = (time.monotonic(), count)
        return count

    @property
    def about(self) -> str:
        """What it is, for people."""
        link = getattr(self._client, "dashboard_link", None)
        found = f"Dask, {self._client.scheduler.address}"
        return f"{found}, dashboard {link}" if link else found

    def outcomes(self, orders: Sequence[Order], setting: Setting) -> Iterator[Outcome]:
        """Makes chunks, several in a task; those of a task that fails are tried one by one."""
        from distributed import as_completed

        left = deque(orders)
        alone: deque[Order] = deque()
        sent: dict[str, list[Order]] = {}
        tasks = as_completed([])
        try:
            while left or alone or sent:
                while (left or alone) and len(sent) < AHEAD * self.cores:
                    task = [alone.popleft()] if alone else self._task(left)
                    future = self._client.submit(
                        make_all, task, setting, pure=False, retries=RETRIES
                    )
                    sent[future.key] = task
                    tasks.add(future)
                    del future
                future = next(tasks)
                task = sent.pop(future.key)
                error = future.exception()
                if error is None:
                    made = future.result()
                    self._learn(task, made)
                    yield from zip(task, made, strict=True)
                elif len(task) > 1:
                    alone.extend(task)
                else:
                    yield task[0], error
                del future
        finally:
            self._client.cancel(list(tasks.futures))

    def _task(self, left: deque[Order]) -> list[Order]:
        """The next chunks that last about as long as a task should."""
        most = max(1, len(left) // (2 * self.cores))
        task, seconds = [left.popleft()], 0.0
        seconds += self._expected(task[0])
        while left and len(task) < most and seconds + self._expected(left[0]) <= SECONDS:
            seconds += self._expected(left[0])
            task.append(left.popleft())
        return task

    def _expected(self, order: Order) -> float:
        """Seconds of a chunk: those of the last of its kind, else of its transport."""
        seconds = self._seconds.get((order.transport, order.points[0][0]))
        if seconds is None:
            seconds = self._seconds.get((order.transport, ""), SECONDS)
        return seconds

    def _learn(self, task: Sequence[Order], made: Sequence[Made]) -> None:
        for order, one in zip(task, made, strict=True):
            self._seconds[order.transport, order.points[0][0]] = one.seconds
            self._seconds[order.transport, ""] = one.seconds


def _refuse_other_builds(client: Any) -> None:
    """Refuses workers of another build: those that are there now, and those that come later.

    Raises:
        HopflowError: There is one; the message names it.
    """
    found: dict[str, str] = client.run(worker_identity)
    for worker, build in found.items():
        if build != identity():
            raise HopflowError(
                f"the worker {worker} has another build of hopflow ({build}) than this machine "
                f"({identity()}), and its results may differ; allowed is the same package on all "
                "machines"
            )
    client.register_plugin(_same_build(identity()), name="hopflow-same-build")


def worker_identity() -> str:
    """The build of a worker, or why it has none."""
    try:
        return identity()
    except (HopflowError, ImportError) as error:
        return str(error)


def _same_build(build: str) -> Any:
    from distributed import WorkerPlugin

    class SameBuild(WorkerPlugin):  # type: ignore[misc]
        """Lets no worker of another build start."""

        def setup(self, worker: Any) -> None:
            """Called by a worker that starts."""
            check_build(build)

    return SameBuild()
