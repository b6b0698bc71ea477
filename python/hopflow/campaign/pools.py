"""What makes runs: the cores of this machine, or a Dask cluster."""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from typing import Any, Protocol, TypeVar

from hopflow._errors import HopflowError
from hopflow._runs import check_counts
from hopflow.campaign.chunks import Made, TimeIsOver, check_build, identity
from hopflow.campaign.workers import Workers


class Ordered(Protocol):
    """Runs that are made one after the other, on one core."""

    @property
    def kind(self) -> tuple[str, str]:
        """What orders that take about as long have in common: roughly, and more closely."""

    @property
    def runs(self) -> int:
        """Number of runs."""

    @property
    def about(self) -> str:
        """What it is, for people."""

    @property
    def seeds(self) -> str:
        """Its seeds, for people."""


O = TypeVar("O", bound=Ordered)  # noqa: E741
O_in = TypeVar("O_in", bound=Ordered, contravariant=True)


class Make(Protocol[O_in]):
    """Makes what is ordered; workers get it with the orders."""

    def __call__(
        self, order: O_in, *, stop: threading.Event | None = None, end: float | None = None
    ) -> Made:
        """Makes it, unless the user wants no more.

        Raises:
            TimeIsOver: It was not begun by the end.
        """


class Pool(Protocol):
    """Makes what is ordered, in any order."""

    @property
    def cores(self) -> int:
        """Orders that are made at the same time."""

    @property
    def about(self) -> str:
        """What it is, for people."""

    def outcomes(
        self, orders: Sequence[O], make: Make[O], end: float | None = None
    ) -> Iterator[tuple[O, Made | Exception]]:
        """Makes what is ordered; tells each when it is done, or why nothing was made of it.

        Args:
            orders: What is to be made.
            make: Makes one of them.
            end: A time as `time.time` tells it, from which on none is begun; those that were are
                ended, and nothing is told of the others.
        """


class LocalPool:
    """The cores of this machine: a thread each, which the simulator keeps busy."""

    def __init__(self, cores: int | None = None) -> None:
        """A pool of so many cores; by default all that this process may use.

        Raises:
            HopflowError: It is no such number.
        """
        check_counts(cores=cores)
        self._cores = len(os.sched_getaffinity(0)) if cores is None else cores

    @property
    def cores(self) -> int:
        """Orders that are made at the same time."""
        return self._cores

    @property
    def about(self) -> str:
        """What it is, for people."""
        return f"{self._cores} core{'s' if self._cores > 1 else ''} of this machine"

    def outcomes(
        self, orders: Sequence[O], make: Make[O], end: float | None = None
    ) -> Iterator[tuple[O, Made | Exception]]:
        """Makes what is ordered; Ctrl-C ends it soon."""
        stop = threading.Event()
        begin = partial(_unless_over, make, end, stop)
        with ThreadPoolExecutor(self._cores) as executor:
            futures = {executor.submit(begin, order): order for order in orders}
            try:
                while futures:
                    done, _ = wait(futures, return_when=FIRST_COMPLETED)
                    for future in done:
                        order, outcome = futures.pop(future), _outcome(future)
                        if outcome is not None:
                            yield order, outcome
            except BaseException:
                stop.set()
                executor.shutdown(cancel_futures=True)
                raise


def _is_over(end: float | None) -> bool:
    return end is not None and time.time() >= end


def _unless_over(
    make: Make[O], end: float | None, stop: threading.Event | None, order: O
) -> Made | None:
    if _is_over(end):
        return None
    try:
        return make(order, stop=stop, end=end)
    except TimeIsOver:
        return None


def _outcome(future: Future[Made | None]) -> Made | Exception | None:
    error = future.exception()
    if error is None:
        return future.result()
    if isinstance(error, Exception):
        return error
    raise error


def make_all(orders: Sequence[O], make: Make[O], end: float | None) -> list[Made]:
    """The task of a worker: the orders that are begun by the end, one after the other."""
    made = []
    for order in orders:
        one = _unless_over(make, end, None, order)
        if one is None:
            break
        made.append(one)
    return made


SECONDS = 10.0
"""What a task lasts, about: long enough that the scheduler's milliseconds do not count."""

AHEAD = 3
"""Tasks that wait or run, for each core: the scheduler's memory does not grow with the campaign."""

_PAUSE = 0.02
"""Seconds between two questions whether a task is done."""

_GLANCE = 1.0
"""Seconds between two questions for the number of workers."""

RETRIES = 2
"""How often a task that fails is tried again. That of a worker that dies goes to another anyway."""


class DaskPool:
    """A Dask cluster. Results are written by its workers; their sizes pass through here."""

    def __init__(self, client: Any, say: Callable[[str], None]) -> None:
        """The cluster of a client; `say` tells a line to people.

        Raises:
            HopflowError: A worker has another build of hopflow.
        """
        self._client = client
        self._seconds: dict[tuple[str, str], float] = {}
        self._counted = (-_GLANCE, 1)
        self._workers = Workers(client, say)
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

    def outcomes(
        self, orders: Sequence[O], make: Make[O], end: float | None = None
    ) -> Iterator[tuple[O, Made | Exception]]:
        """Makes what is ordered, several in a task; those of a task that fails one by one.

        Raises:
            HopflowError: There were workers, and there have been none for a day.
        """
        from distributed import as_completed

        left = deque(orders)
        alone: deque[O] = deque()
        sent: dict[str, list[O]] = {}
        tasks = as_completed([])
        try:
            while True:
                while (left or alone) and len(sent) < AHEAD * self.cores and not _is_over(end):
                    task = [alone.popleft()] if alone else self._task(left)
                    given = (task, make, end)
                    future = self._client.submit(make_all, *given, pure=False, retries=RETRIES)
                    sent[future.key] = task
                    tasks.add(future)
                    del future
                if not sent:
                    return
                self._workers.look()
                while not tasks.has_ready():
                    time.sleep(_PAUSE)
                    self._workers.look()
                future = next(tasks)
                task = sent.pop(future.key)
                error = future.exception()
                if error is None:
                    made = future.result()
                    self._learn(task, made)
                    # By its clock the worker may have begun only some.
                    yield from zip(task, made, strict=False)
                elif len(task) > 1:
                    alone.extend(task)
                else:
                    yield task[0], error
                del future
        finally:
            self._client.cancel(list(tasks.futures))

    def _task(self, left: deque[O]) -> list[O]:
        """The next orders that last about as long as a task should."""
        most = max(1, len(left) // (2 * self.cores))
        task, seconds = [left.popleft()], 0.0
        seconds += self._expected(task[0])
        while left and len(task) < most and seconds + self._expected(left[0]) <= SECONDS:
            seconds += self._expected(left[0])
            task.append(left.popleft())
        return task

    def _expected(self, order: Ordered) -> float:
        """Seconds of an order: those of the last of its kind, else of a similar one."""
        roughly, _ = order.kind
        return self._seconds.get(order.kind, self._seconds.get((roughly, ""), SECONDS))

    def _learn(self, task: Sequence[Ordered], made: Sequence[Made]) -> None:
        for order, one in zip(task, made, strict=False):
            roughly, _ = order.kind
            self._seconds[order.kind] = self._seconds[roughly, ""] = one.seconds


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
