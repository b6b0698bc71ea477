"""Training over many epochs, with checkpoints and the choice of an epoch by validation data."""

from __future__ import annotations

import fcntl
import hashlib
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any

import jax
import jax.numpy as jnp
import numpy as np
from numpy.typing import NDArray

from hopflow.adversarial import checkpoint, parzen
from hopflow.adversarial.algorithm import Game
from hopflow.adversarial.settings import Progress, State


@dataclass(frozen=True)
class Row:
    """What one epoch showed.

    Attributes:
        epoch: Its number, from 1 on.
        discriminator_loss: See `Progress`.
        generator_loss: See `Progress`.
        on_data: See `Progress`.
        on_samples: See `Progress`.
        parzen: Mean log-likelihood of the validation data, nats; only where it was estimated.
        sigma: Its width.
        seconds: Time that the epoch took.
    """

    epoch: int
    discriminator_loss: float
    generator_loss: float
    on_data: float
    on_samples: float
    parzen: float | None = None
    sigma: float | None = None
    seconds: float = 0.0


@dataclass
class Training:
    """What training has reached.

    Attributes:
        state: After the last epoch.
        best: After the epoch with the best validation.
        history: One row for each epoch.
        best_epoch: That epoch; 0 before the first validation.
    """

    state: State
    best: State
    history: list[Row] = field(default_factory=list)
    best_epoch: int = 0

    @property
    def best_parzen(self) -> float:
        """The best mean log-likelihood of the validation data so far, in nats."""
        values = [row.parzen for row in self.history if row.parzen is not None]
        return max((value for value in values if np.isfinite(value)), default=-np.inf)


@dataclass(frozen=True)
class Plan:
    """How long to train, and how often to look.

    Attributes:
        epochs: Epochs in all.
        every: Epochs between two estimates on the validation data.
        samples: Samples of the generator for an estimate.
        seed: Decides everything that is drawn.
        folder: Where checkpoints are kept; `None`: nowhere.
    """

    epochs: int
    every: int = 5
    samples: int = 10_000
    seed: int = 1
    folder: Path | None = None


def train(
    game: Game,
    data: NDArray[np.float32],
    validation: NDArray[np.float32],
    plan: Plan,
    report: Callable[[Row], None] = lambda _: None,
) -> Training:
    """Trains, or goes on training from the folder's checkpoint.

    The epoch is chosen by the log-likelihood of the validation data, with the width that suits them
    best; test data are never looked at. Looked at is every `plan.every`-th epoch, and the last one.
    A training that goes on further ends as if it had been planned so: it does not choose what had
    been the last epoch out of turn. One process at a time trains in a folder.

    Args:
        game: What is played.
        data: Training data, shape `(examples, *shape)`.
        validation: Shape `(n, d)`.
        plan: How long, and what is kept.
        report: Called after each epoch.
    """
    digest = _digest(data, validation)
    held = jax.device_put(jnp.asarray(data))
    with _alone(plan.folder):
        training = _resume(game, plan, digest)
        while (epoch := len(training.history) + 1) <= plan.epochs:
            start = time.monotonic()
            training.state, progress = game.epoch(training.state, held)
            row = _row(epoch, progress, time.monotonic() - start)
            looked = _in_turn(row, plan) or epoch == plan.epochs
            if looked:
                row = _look(game, training, validation, plan, row)
                if _in_turn(row, plan):
                    _choose(training, row)
            training.history.append(row)
            if looked:
                _keep(game, training, plan, digest)
            report(row)
    if training.history:
        last = training.history.pop()
        _choose(training, last)
        training.history.append(last)
    return training


@contextmanager
def _alone(folder: Path | None) -> Iterator[None]:
    """Waits until nobody else trains in the folder."""
    with ExitStack() as stack:
        # Where locks or files cannot be made, two train the same and write the same, or only read.
        with suppress(OSError):
            if folder is not None:
                folder.mkdir(parents=True, exist_ok=True)
                _lock(stack.enter_context((folder / ".lock").open("w")), folder)
        yield


def _lock(file: IO[str], folder: Path) -> None:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(f"waits for another training in {folder}", file=sys.stderr, flush=True)
        fcntl.flock(file, fcntl.LOCK_EX)


def _in_turn(row: Row, plan: Plan) -> bool:
    return row.epoch % plan.every == 0


def _row(epoch: int, progress: Progress, seconds: float) -> Row:
    return Row(epoch, *progress, seconds=seconds)


def _look(
    game: Game, training: Training, validation: NDArray[np.float32], plan: Plan, row: Row
) -> Row:
    (seed,) = np.random.SeedSequence([plan.seed, row.epoch]).generate_state(1)
    samples = game.sample(training.state, plan.samples, int(seed))
    found = parzen.choose_sigma(samples.reshape(len(samples), -1), validation)
    return replace(row, parzen=found.mean, sigma=found.sigma)


def _choose(training: Training, row: Row) -> None:
    """Takes the state of an epoch that was looked at, if it is better than all before."""
    if row.parzen is not None and row.parzen > training.best_parzen:
        training.best, training.best_epoch = training.state, row.epoch


def _digest(*arrays: NDArray[np.float32]) -> str:
    """A hash of what is trained and chosen by."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def _keep(game: Game, training: Training, plan: Plan, digest: str) -> None:
    """Writes checkpoints: the last state, and the best of those that were looked at in turn."""
    if plan.folder is None:
        return
    notes: dict[str, Any] = {
        "seed": plan.seed,
        "data": digest,
        "every": plan.every,
        "samples": plan.samples,
        "best_epoch": training.best_epoch,
        "history": [asdict(row) for row in training.history],
    }
    if training.best is training.state:
        checkpoint.save(plan.folder / "best.msgpack", game, training.best, notes)
    checkpoint.save(plan.folder / "last.msgpack", game, training.state, notes)


def _resume(game: Game, plan: Plan, digest: str) -> Training:
    path = None if plan.folder is None else plan.folder / "last.msgpack"
    if path is None or not path.exists():
        state = game.start(plan.seed)
        return Training(state, state)
    state, notes = checkpoint.load(path, game)
    for name in ("seed", "every", "samples"):
        # A checkpoint need not tell all of these.
        if (found := notes.get(name, getattr(plan, name))) != getattr(plan, name):
            raise checkpoint.CheckpointError(
                f"{path}: was trained with {name} = {found}, not {getattr(plan, name)}; choose "
                "another folder"
            )
    if notes["data"] != digest:
        raise checkpoint.CheckpointError(f"{path}: was made with other data; choose another folder")
    history = [Row(**row) for row in notes["history"]]
    if len(history) > plan.epochs:
        raise checkpoint.CheckpointError(
            f"{path}: has {len(history)} epochs already; allowed are as many or more"
        )
    best_epoch = int(notes["best_epoch"])
    if len(history) < plan.epochs:
        if best_epoch % plan.every:
            raise checkpoint.CheckpointError(
                f"{path}: an earlier version of hopflow chose the last epoch out of turn; "
                "choose another folder"
            )
        history = [row if _in_turn(row, plan) else _unseen(row) for row in history]
    best = game.start(plan.seed)
    if best_epoch:
        best, _ = checkpoint.load(path.with_name("best.msgpack"), game)
    return Training(state, best, history, best_epoch)


def _unseen(row: Row) -> Row:
    return replace(row, parzen=None, sigma=None)
