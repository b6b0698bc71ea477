"""Section 4 of the paper, checked numerically: equations 2 and 6, Theorem 1, Proposition 2."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from hopflow.adversarial import theory
from hopflow.experiments import Options, Value, origin, write_values
from hopflow.report import Axis, Horizontal, Page, Series, verdict

_NAME = "gan-theorem1"
_POINTS = 50
_PAIRS = 500
_STEPS = 400
_LEAST = -float(np.log(4.0))


@dataclass(frozen=True)
class _Pairs:
    """What held for random pairs of distributions: the largest errors, and all criteria."""

    against_divergence: float
    discriminator: float
    better_discriminator: float
    smallest: float
    convexity: float
    divergences: list[float]
    criteria: list[float]


def reproduce(options: Options) -> None:
    """Writes values and a page, and prints the checks."""
    random = np.random.default_rng(1)
    pairs = _check_pairs(random)
    data = random.dirichlet(np.full(_POINTS, 0.5))
    starts = [np.full(_POINTS, 1.0 / _POINTS), *random.dirichlet(np.full(_POINTS, 1.0), 4)]
    curves = [np.asarray(theory.learn_generator(data, s + 1e-9, 0.5, _STEPS)) for s in starts]
    values = _values(pairs, curves)
    page = _page(values, pairs, curves).add(origin(_NAME, options, 1))
    write_values(options.out, values)
    path = page.write(options.out)
    for value in values:
        print(f"{value.quantity}: {value.mean:.3g} ({value.verdict})")
    print(f"report   {path}")


def _check_pairs(random: np.random.Generator) -> _Pairs:
    against, found, better, convex = [], [], [], []
    divergences, criteria = [], []
    for _ in range(_PAIRS):
        sparsity = 10.0 ** random.uniform(-1.0, 1.0)
        p, q, r = random.dirichlet(np.full(_POINTS, sparsity), 3)
        divergences.append(theory.jensen_shannon(p, q))
        criteria.append(theory.criterion(p, q))
        against.append(abs(criteria[-1] - _LEAST - 2.0 * divergences[-1]))
        optimal = theory.optimal_discriminator(p, q)
        matters = p + q > 1e-12
        learned = theory.learn_discriminator(p, q)
        found.append(float(np.abs(learned - optimal)[matters].max()))
        other = np.clip(optimal + random.normal(0.0, 0.1, _POINTS), 1e-6, 1.0 - 1e-6)
        better.append(theory.value(other, p, q) - criteria[-1])
        middle = theory.criterion(p, 0.5 * (q + r))
        convex.append(middle - 0.5 * (criteria[-1] + theory.criterion(p, r)))
    return _Pairs(
        max(against), max(found), max(better), min(criteria), max(convex), divergences, criteria
    )


def _values(pairs: _Pairs, curves: list[np.ndarray]) -> list[Value]:
    ends = max(float(curve[-1]) - _LEAST for curve in curves)
    rises = max(float(np.diff(curve).max()) for curve in curves)
    own = theory.criterion(np.full(8, 0.125), np.full(8, 0.125))
    found = [
        ("equation 6: C(G) + log 4 - 2 JSD, largest", pairs.against_divergence, _PAIRS),
        ("equation 2: learned D - D*, largest", pairs.discriminator, _PAIRS),
        ("equation 2: V(D) - V(D*) of other D, largest", pairs.better_discriminator, _PAIRS),
        ("theorem 1: C(G) at p_g = p_data, + log 4", own - _LEAST, 1),
        ("theorem 1: C(G) + log 4 elsewhere, smallest", pairs.smallest - _LEAST, _PAIRS),
        ("proposition 2: departure from convexity, largest", pairs.convexity, _PAIRS),
        ("proposition 2: C(G) + log 4 after the descent, largest", ends, len(curves)),
        ("proposition 2: rise of C(G) in a step, largest", rises, len(curves)),
    ]
    return [Value.exact(_NAME, quantity, number, n) for quantity, number, n in found]


def _page(values: list[Value], pairs: _Pairs, curves: list[np.ndarray]) -> Page:
    page = Page(
        "Adversarial nets: Theorem 1",
        "Goodfellow et al., Generative Adversarial Nets (NIPS 2014), section 4",
    )
    page.section("Checks").prose(
        f"Random pairs of distributions over {_POINTS} points. The discriminator is learned by "
        "Newton's method, which does not know equation 2; the generator's distribution descends "
        "with the discriminator optimal at every step, as Proposition 2 wants it."
    ).table(
        ["check", "found", "verdict"],
        [[value.quantity, f"{value.mean:.2e}", verdict(value.verdict)] for value in values],
        "Largest departures; bands were fixed before the runs.",
    )
    order = np.argsort(pairs.divergences)
    divergences = np.asarray(pairs.divergences)[order]
    page.section("Curves").chart(
        "criterion",
        "C(G) is -log 4 and twice the divergence",
        Axis("Jensen-Shannon divergence", "nats", include=(0.0,)),
        Axis("C(G)", "nats"),
        [
            Series("random pairs", divergences, np.asarray(pairs.criteria)[order], mark="points"),
            Series("equation 6", divergences, _LEAST + 2.0 * divergences),
        ],
        references=[Horizontal("-log 4", _LEAST)],
    ).chart(
        "descent",
        "Five generators descend to -log 4",
        Axis("step", log=True),
        Axis("C(G) + log 4", "nats", log=True),
        [
            Series(f"start {number}", range(1, len(curve)), np.maximum(curve[1:] - _LEAST, 1e-12))
            for number, curve in enumerate(curves, start=1)
        ],
    )
    return page
