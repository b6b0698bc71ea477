"""Whether the intervals hold: simulated campaigns of which the truth is known.

    python -m hopflow.campaign.coverage          # 2,000 campaigns of each law, some seconds

A campaign has points whose differences have different spreads; each is looked at after every round,
and stops when it is known as precisely as asked. The last interval of each point covers the truth
or not. Beside it Student's intervals are counted, which do not allow for looking again and again.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hopflow.campaign.stopping import Target, difference, next_networks

Draw = Callable[[np.random.Generator, int], NDArray[np.float64]]

LAWS: dict[str, Draw] = {
    "normal": lambda random, n: random.normal(size=n),
    "uniform": lambda random, n: random.uniform(-1.7, 1.7, size=n),
    "Student, 4 degrees of freedom": lambda random, n: random.standard_t(4, size=n),
    "exponential": lambda random, n: random.exponential(size=n) - 1.0,
    "lognormal, sigma 0.5": lambda random, n: (
        random.lognormal(0.0, 0.5, size=n) - float(np.exp(0.125))
    ),
    "two clusters": lambda random, n: (
        random.normal(size=n) * 0.3 + np.where(random.random(n) < 0.2, 2.0, -0.5)
    ),
}
"""Laws of the difference on a network, each with expectation zero."""

SPREADS = (0.5, 1.0, 2.0)
"""By what factor the points' differences spread."""

FIRST, BATCH, MOST, WIDTH = 20, 5, 1000, 0.5


@dataclass(frozen=True)
class Coverage:
    """What simulated campaigns of a law tell.

    Attributes:
        coverage: The share of last intervals that cover the truth.
        student: The share of points where Student's interval, looked at after every five networks
            from 20 to 100, covers the truth each time: it is too narrow for that.
        mean_networks: Networks of a point, in the mean.
        fixed_networks: Networks that every point would have with a number fixed beforehand, so that
            nine of ten campaigns decide all points.
    """

    coverage: float
    student: float
    mean_networks: float
    fixed_networks: float


def covered(law: str, campaigns: int, seed: int = 0) -> Coverage:
    """Simulates campaigns, and counts the intervals that cover the truth.

    Args:
        law: One of `LAWS`.
        campaigns: Number of campaigns; each has a point for each of `SPREADS`.
        seed: Of the random numbers.
    """
    random = np.random.default_rng(seed)
    hits = student_hits = networks = 0
    largest = []
    for _ in range(campaigns):
        needed = 0
        for spread in SPREADS:
            values = spread * LAWS[law](random, MOST)
            n, is_hit = _stopped(values)
            hits += is_hit
            student_hits += _student(values)
            networks += n
            needed = max(needed, n)
        largest.append(needed)
    points = campaigns * len(SPREADS)
    fixed = float(np.quantile(largest, 0.9))
    return Coverage(hits / points, student_hits / points, networks / points, fixed)


def _stopped(values: NDArray[np.float64]) -> tuple[int, bool]:
    """Networks until the difference is known, and whether the last interval covers zero."""
    n, target = FIRST, Target("", WIDTH)
    while True:
        of = dict(enumerate(values[:n].tolist()))
        found = difference(of, dict.fromkeys(of, 0.0), "", target, 0.05)
        if found.decided or n >= MOST:
            return n, found.interval.low <= 0.0 <= found.interval.high
        n = next_networks([found], n, BATCH, MOST)


def _student(values: NDArray[np.float64]) -> bool:
    """Whether Student's interval covers zero where it is looked at until it excludes zero."""
    from scipy import stats

    for n in range(FIRST, MOST // 10 + 1, BATCH):
        some = values[:n]
        half = stats.t.ppf(0.975, n - 1) * some.std(ddof=1) / np.sqrt(n)
        if abs(some.mean()) > half:
            return False
    return True


def main(campaigns: int = 2000) -> None:
    """Prints a table."""
    print(f"{'law':<32} {'covered':>8} {'Student':>8} {'networks':>9} {'fixed':>6}")
    for law in LAWS:
        found = covered(law, campaigns)
        print(
            f"{law:<32} {found.coverage:>8.2%} {found.student:>8.2%} "
            f"{found.mean_networks:>9.1f} {found.fixed_networks:>6.0f}"
        )


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
