"""The nets that Table 1 and Figures 2 and 3 share: trained once, kept, and used by all of them."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path
from types import ModuleType
from typing import Literal

import jax
import numpy as np
from numpy.typing import NDArray

from hopflow.adversarial import data, paper
from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.data import Images, Split
from hopflow.adversarial.training import Plan, Row, Training, train
from hopflow.experiments import Options

SEEDS = 3
VALIDATION_ROWS = 1000
"""Rows of the validation data that sigma and the epoch are chosen by; the authors' number."""

Arm = Literal["as-published", "penalised"]
"""Nets and settings: the authors' (`paper.mnist`), or ours (`paper.mnist_penalised`)."""

ARMS: tuple[Arm, ...] = ("as-published", "penalised")
EPOCHS: Mapping[Arm, int] = {"as-published": 100, "penalised": 30}
"""Epochs of training for MNIST: at a constant rate the penalised nets need a fifth of the time."""

FACES_EPOCHS: Mapping[Arm, int] = {"as-published": 400, "penalised": 300}
"""Epochs of training for faces, of which there are few: one has six updates."""

JUDGED: Arm = "as-published"
"""The arm whose values are compared with the paper's."""


@dataclass(frozen=True)
class Setup:
    """What is trained on what, and for how long.

    Attributes:
        name: Of the data set.
        split: Gives the data set.
        nets: Gives the nets of an arm, of training data.
        epochs: How long, by arm.
        every: Epochs between two looks at the validation data.
        samples: Samples of the generator for an estimate.
    """

    name: str
    split: Callable[[], Split]
    nets: Mapping[Arm, Callable[[NDArray[np.float32]], Game]]
    epochs: Mapping[Arm, int]
    every: int
    samples: int

    def game(self, split: Split, arm: Arm) -> Game:
        """The nets of an arm."""
        return self.nets[arm](split.train.x)


_LARGE: Mapping[Arm, Callable[[NDArray[np.float32]], Game]] = {
    "as-published": paper.mnist,
    "penalised": paper.mnist_penalised,
}
_SMALL: Mapping[Arm, Callable[[NDArray[np.float32]], Game]] = {
    "as-published": partial(paper.mnist, hidden=64, units=32),
    "penalised": paper.small,
}


def setup(options: Options) -> Setup:
    """MNIST for as long as each arm needs; the quick version: scikit-learn's digits, small nets.

    `options.epochs` is for both arms alike.
    """
    if options.quick:
        return Setup("digits", data.digits, _SMALL, _epochs(options, 120), 20, 500)
    load = partial(data.mnist, options.data)
    return Setup("MNIST", load, _LARGE, _epochs(options, EPOCHS), 5, 10_000)


def faces(options: Options) -> Setup:
    """Faces, with MNIST's nets; the quick version: smaller faces, small nets."""
    if options.quick:
        smaller = partial(_smaller_faces, options.data)
        return Setup("smaller faces", smaller, _SMALL, _epochs(options, 4), 2, 200)
    load = partial(data.faces, options.data)
    return Setup("faces", load, _LARGE, _epochs(options, FACES_EPOCHS), 20, 10_000)


def _smaller_faces(folder: Path | None) -> Split:
    """Faces of 12 by 12 pixels."""

    def smaller(images: Images) -> Images:
        squares = images.x.reshape(-1, 12, 4, 12, 4).mean(axis=(2, 4))
        return Images(squares.reshape(len(squares), -1), images.labels)

    whole = data.faces(folder)
    return Split(smaller(whole.train), smaller(whole.validation), smaller(whole.test))


def _epochs(options: Options, planned: int | Mapping[Arm, int]) -> Mapping[Arm, int]:
    """The number that the options have for all arms, or what is planned."""
    wanted = options.epochs or planned
    return dict.fromkeys(ARMS, wanted) if isinstance(wanted, int) else wanted


def trained(
    chosen: Setup, options: Options, seeds: int, arms: tuple[Arm, ...] = ARMS
) -> dict[Arm, list[Training]]:
    """The nets of each arm, seeds from 1 on: trained, or read from `nets` beside the results.

    On a processor, each is trained in a process with one thread for each product of matrices, so
    that the number of processes changes nothing; on a GPU one after the other.
    """
    jobs = list(product(arms, range(1, seeds + 1)))
    make = partial(_train, chosen, options.out.parent / "nets" / chosen.name.lower())
    if jax.default_backend() == "cpu":
        with _single_threaded():
            _side_by_side(make, jobs, min(len(jobs), options.threads or os.cpu_count() or 1))
    return {arm: [make((arm, seed)) for seed in range(1, seeds + 1)] for arm in arms}


def _side_by_side(make: partial[Training], jobs: list[tuple[Arm, int]], workers: int) -> None:
    """Trains in processes of their own, which end at once where this one is interrupted."""
    spawn = multiprocessing.get_context("spawn")
    ignored = (signal.SIGINT, signal.SIG_IGN)
    with ProcessPoolExecutor(workers, spawn, signal.signal, ignored) as pool:
        try:
            with _main_hidden():
                done = pool.map(partial(_train_quietly, make), jobs)
            list(done)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            for process in multiprocessing.active_children():
                process.terminate()
            raise


def _train_quietly(make: partial[Training], job: tuple[Arm, int]) -> None:
    """Trains; the result stays in the folder, which is quicker than to send it."""
    make(job)


def _train(chosen: Setup, folder: Path, job: tuple[Arm, int]) -> Training:
    arm, seed = job
    split = chosen.split()
    kept = folder / arm / f"seed-{seed}"
    plan = Plan(chosen.epochs[arm], chosen.every, chosen.samples, seed=seed, folder=kept)
    return train(
        chosen.game(split, arm),
        split.train.x.astype(np.float32),
        split.validation.x[:VALIDATION_ROWS],
        plan,
        partial(_report, arm, seed),
    )


def _report(arm: Arm, seed: int, row: Row) -> None:
    found = "" if row.parzen is None else f", {row.parzen:.1f} nats on validation data"
    print(
        f"{arm}, seed {seed}, epoch {row.epoch}: D(x) {row.on_data:.2f}, "
        f"D(G(z)) {row.on_samples:.2f}, {row.seconds:.0f} s{found}",
        file=sys.stderr,
        flush=True,
    )


@contextmanager
def _main_hidden() -> Iterator[None]:
    """Keeps processes that are started meanwhile from running the caller's script once more."""
    main = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = main


@contextmanager
def _single_threaded() -> Iterator[None]:
    """Lets processes that are started meanwhile compute each product with one thread."""
    flags = os.environ.get("XLA_FLAGS", "")
    wanted = {
        "XLA_FLAGS": f"{flags} --xla_cpu_multi_thread_eigen=false".strip(),
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
    }
    before = {name: os.environ.get(name) for name in wanted}
    os.environ.update(wanted)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                del os.environ[name]
            else:
                os.environ[name] = value
