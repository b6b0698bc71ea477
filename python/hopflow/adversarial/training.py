"""Training over many epochs, with checkpoints and the choice of an epoch by validation data."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

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
    best; test data are never looked at.

    Args:
        game: What is played.
        data: Training data, shape `(examples, *shape)`.
        validation: Shape `(n, d)`.
        plan: How long, and what is kept.
        report: Called after each epoch.
    """
    digest = _digest(data, validation)
    training = _resume(game, plan, digest)
    held = jax.device_put(jnp.asarray(data))
    while (epoch := len(training.history) + 1) <= plan.epochs:
        start = time.monotonic()
        training.state, progress = game.epoch(training.state, held)
        row = _row(epoch, progress, time.monotonic() - start)
        looked = epoch % plan.every == 0 or epoch == plan.epochs
        if looked:
            row = _look(game, training, validation, plan, row)
        training.history.append(row)
        if looked:
            _keep(game, training, plan, digest)
        report(row)
    return training


def _row(epoch: int, progress: Progress, seconds: float) -> Row:
    return Row(epoch, *progress, seconds=seconds)


def _look(
    game: Game, training: Training, validation: NDArray[np.float32], plan: Plan, row: Row
) -> Row:
    (seed,) = np.random.SeedSequence([plan.seed, row.epoch]).generate_state(1)
    samples = game.sample(training.state, plan.samples, int(seed))
    found = parzen.choose_sigma(samples.reshape(len(samples), -1), validation)
    if found.mean > training.best_parzen:
        training.best, training.best_epoch = training.state, row.epoch
    return Row(**{**asdict(row), "parzen": found.mean, "sigma": found.sigma})


def _digest(*arrays: NDArray[np.float32]) -> str:
    """A hash of what is trained and chosen by."""
    found = hashlib.sha256()
    for array in arrays:
        found.update(array.tobytes())
    return found.hexdigest()[:16]


def _keep(game: Game, training: Training, plan: Plan, digest: str) -> None:
    if plan.folder is None:
        return
    notes: dict[str, Any] = {
        "seed": plan.seed,
        "data": digest,
        "best_epoch": training.best_epoch,
        "history": [asdict(row) for row in training.history],
    }
    best = plan.folder / "best.msgpack"
    if training.best is training.state or not best.exists():
        checkpoint.save(best, game, training.best, notes)
    checkpoint.save(plan.folder / "last.msgpack", game, training.state, notes)


def _resume(game: Game, plan: Plan, digest: str) -> Training:
    path = None if plan.folder is None else plan.folder / "last.msgpack"
    if path is None or not path.exists():
        state = game.start(plan.seed)
        return Training(state, state)
    state, notes = checkpoint.load(path, game)
    if notes["seed"] != plan.seed:
        raise checkpoint.CheckpointError(f"{path}: has the seed {notes['seed']}, not {plan.seed}")
    if notes["data"] != digest:
        raise checkpoint.CheckpointError(f"{path}: was made with other data; choose another folder")
    best, _ = checkpoint.load(path.with_name("best.msgpack"), game)
    history = [Row(**row) for row in notes["history"]]
    if len(history) > plan.epochs:
        raise checkpoint.CheckpointError(
            f"{path}: has {len(history)} epochs already; allowed are as many or more"
        )
    return Training(state, best, history, int(notes["best_epoch"]))
