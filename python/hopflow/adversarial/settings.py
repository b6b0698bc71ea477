"""How adversarial nets are trained, and what training has reached."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

import jax
import optax

from hopflow.adversarial.losses import LOSSES, LossName
from hopflow.adversarial.optimisers import Momentum, Optimiser

Parameters = Any
"""A tree of a net's weights and biases."""


@dataclass(frozen=True)
class Settings:
    """How the game is played.

    Attributes:
        batch: Examples in a minibatch, m.
        steps: Updates of the discriminator for one of the generator, k.
        schedule: `alternating` as Algorithm 1 is printed: the generator's gradient is taken with
            fresh noise and the discriminator as just updated. `simultaneous` as the authors ran it:
            both gradients are taken at the same point, with the same noise and dropout.
        loss: What the players minimise.
        penalty: Weight of the loss's gradient penalty; `None`: as published.
        noise: `uniform` between plus and minus the root of 3, or `gaussian`: both have variance 1.
        noise_size: Dimensions of the noise.
        discriminator_scale: What the discriminator's loss, with its penalty, is multiplied by; the
            authors took the mean of its two parts, one half.
        average: Decay, per update, of the running mean of the generator's parameters with which
            samples are made: it smooths the last updates' noise and does not touch training. 0: the
            parameters themselves, as in the paper.
        generator_rule: How the generator is updated.
        discriminator_rule: How the discriminator is updated.
    """

    batch: int = 100
    steps: int = 1
    schedule: Literal["alternating", "simultaneous"] = "alternating"
    loss: LossName = "non-saturating"
    penalty: float | None = None
    noise: Literal["uniform", "gaussian"] = "uniform"
    noise_size: int = 100
    discriminator_scale: float = 0.5
    average: float = 0.0
    generator_rule: Optimiser = field(default_factory=Momentum)
    discriminator_rule: Optimiser = field(default_factory=Momentum)

    def __post_init__(self) -> None:
        for key, allowed in (
            ("schedule", ("alternating", "simultaneous")),
            ("loss", tuple(LOSSES)),
            ("noise", ("uniform", "gaussian")),
        ):
            if (value := getattr(self, key)) not in allowed:
                raise ValueError(f"{key} is {value!r}; allowed are {', '.join(allowed)}")
        for key in ("batch", "steps", "noise_size"):
            if getattr(self, key) < 1:
                raise ValueError(f"{key} is {getattr(self, key)}; allowed is 1 or more")
        if not 0.0 <= self.average < 1.0:
            raise ValueError(f"average is {self.average}; allowed is 0 or more, below 1")
        penalised = LOSSES[self.loss].penalty is not None
        if self.schedule == "simultaneous" and (self.steps > 1 or penalised):
            raise ValueError("simultaneous updates have one step and no gradient penalty")
        if self.penalty is not None and (not penalised or self.penalty < 0.0):
            raise ValueError(
                f"penalty is {self.penalty}; allowed is 0 or more, for losses that have one"
            )

    @property
    def penalty_weight(self) -> float:
        """What the loss's gradient penalty is multiplied by."""
        return LOSSES[self.loss].weight if self.penalty is None else self.penalty


class Progress(NamedTuple):
    """Means over an epoch.

    Attributes:
        discriminator_loss: The discriminator's loss, without the scale and the penalty.
        generator_loss: The generator's loss.
        on_data: D(x), with dropout as in training.
        on_samples: D(G(z)), likewise.
    """

    discriminator_loss: float
    generator_loss: float
    on_data: float
    on_samples: float


class State(NamedTuple):
    """All that training has reached.

    Attributes:
        generator: The generator's parameters.
        discriminator: The discriminator's parameters.
        average: What samples are made with: the generator's parameters, or their running mean.
        generator_rule: State of the generator's gradient rule.
        discriminator_rule: State of the discriminator's gradient rule.
        key: The seed's key, as raw data; all randomness follows from it, `step` and `epoch`.
        step: Iterations so far; single updates outside of epochs count as one each.
        epoch: Epochs so far.
    """

    generator: Parameters
    discriminator: Parameters
    average: Parameters
    generator_rule: optax.OptState
    discriminator_rule: optax.OptState
    key: jax.Array
    step: jax.Array
    epoch: jax.Array
