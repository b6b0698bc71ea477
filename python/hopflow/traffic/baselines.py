"""Models of users without a network: what every learned model has to be compared with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from hopflow.traffic.step import Floats, Step


class StepModel(Protocol):
    """Whatever draws steps of one class of users."""

    def sample(self, count: int, rng: np.random.Generator) -> list[Step]:
        """Draws steps; the same generator state gives the same steps."""
        ...


@dataclass(frozen=True, slots=True)
class Crude:
    """Steps that are all alike: the users of BackTap's evaluation (NSDI '16, section 5.1)."""

    #: Bytes of a step.
    size: int

    @classmethod
    def of(cls, class_: str) -> Crude:
        """Web users with pages of 320 KiB, or bulk users with files of 5 MiB."""
        return cls({"web": 320 << 10, "bulk": 5 << 20}[class_])

    def sample(self, count: int, rng: np.random.Generator) -> list[Step]:
        """The same step, over and over."""
        del rng
        return [Step(self.size, ())] * count


@dataclass(frozen=True, slots=True)
class Empirical:
    """The training sessions themselves, drawn with replacement: nothing is new."""

    steps: tuple[Step, ...]

    def sample(self, count: int, rng: np.random.Generator) -> list[Step]:
        """Draws training sessions."""
        return [self.steps[i] for i in rng.integers(len(self.steps), size=count)]


@dataclass(frozen=True, slots=True)
class LogNormal:
    """Logarithms `log(1 + value)` with a normal distribution."""

    mu: float
    sigma: float

    @classmethod
    def fit(cls, values: Floats) -> LogNormal:
        """The distribution of greatest likelihood."""
        logs = np.log1p(values)
        return cls(float(logs.mean()), float(logs.std()))

    def sample(self, count: int, rng: np.random.Generator) -> Floats:
        """Draws values."""
        return np.expm1(self.mu + self.sigma * rng.standard_normal(count))


@dataclass(frozen=True, slots=True)
class Parametric:
    """Independent lognormal sizes with a Pareto tail: nothing knows of anything else.

    Uploads are as many as Poisson's distribution says, and lognormal.
    """

    count: LogNormal
    #: The least and the largest number of objects of a training session.
    count_range: tuple[int, int]
    first: LogNormal
    object: LogNormal
    #: Where the tail of the objects' sizes begins, in bytes.
    tail_from: float
    #: The share of objects in the tail.
    tail_share: float
    #: Hill's estimate of the tail's exponent.
    tail_exponent: float
    #: The largest size of a training session: a Pareto tail alone has no end.
    largest: float
    uploads: float
    upload: LogNormal

    #: The quantile at which the tail begins.
    TAIL = 0.95

    @classmethod
    def fit(cls, steps: tuple[Step, ...]) -> Parametric:
        """Fits each distribution for itself to training sessions."""
        counts = np.array([len(step.objects) for step in steps], dtype=np.float64)
        sizes = np.concatenate([np.array(step.objects, dtype=np.float64) for step in steps])
        firsts = np.array([step.first for step in steps], dtype=np.float64)
        sent = np.array([size for step in steps for size in step.uploads], dtype=np.float64)
        tail_from = float(np.quantile(sizes, cls.TAIL))
        tail = sizes[sizes > tail_from]
        return cls(
            count=LogNormal.fit(counts),
            count_range=(int(counts.min()), int(counts.max())),
            first=LogNormal.fit(firsts),
            object=LogNormal.fit(sizes[sizes <= tail_from]),
            tail_from=tail_from,
            tail_share=len(tail) / len(sizes),
            tail_exponent=float(1.0 / np.log(tail / tail_from).mean()),
            largest=float(max(sizes.max(), firsts.max())),
            uploads=len(sent) / len(steps),
            upload=LogNormal.fit(sent if len(sent) else np.ones(1)),
        )

    def sample(self, count: int, rng: np.random.Generator) -> list[Step]:
        """Draws steps."""
        return [self._step(rng) for _ in range(count)]

    def _step(self, rng: np.random.Generator) -> Step:
        objects = int(np.clip(np.rint(self.count.sample(1, rng)[0]), *self.count_range))
        in_tail = rng.random(objects) < self.tail_share
        body = np.minimum(self.object.sample(objects, rng), self.tail_from)
        tail = self.tail_from * (1.0 - rng.random(objects)) ** (-1.0 / self.tail_exponent)
        first = self._sizes(self.first.sample(1, rng))[0]
        sent = self._sizes(self.upload.sample(int(rng.poisson(self.uploads)), rng))
        return Step(first, self._sizes(np.where(in_tail, tail, body)), sent)

    def _sizes(self, values: Floats) -> tuple[int, ...]:
        return tuple(int(size) for size in np.clip(np.rint(values), 1.0, self.largest))
