"""Adversaries: a net that learns, and classical ones, behind one interface.

An adversary sees examples with their labels, may choose by others what it trains no further on, and
then tells the probability of each label of examples that it has not seen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from hopflow.observer.games import Examples
from hopflow.observer.score import Doubles
from hopflow.observer.traces import Floats

Predict = Callable[[Floats], Doubles]
"""Probabilities of labels, shape `(seeds, n, classes)`, from features, shape `(n, d)`."""

Adversary = Callable[[Examples, Examples, Sequence[int]], Predict]
"""From examples to train on, examples to validate on, and the seeds of trainings."""


class Scale:
    """Features with mean 0 and variance 1 over the examples that are trained on."""

    def __init__(self, features: Floats) -> None:
        """Takes mean and spread from these features."""
        self.mean = features.mean(0)
        self.spread = np.maximum(features.std(0), 1e-6)

    def __call__(self, features: Floats) -> Floats:
        """The scaled features; what is far outside is cut off."""
        scaled = (features - self.mean) / self.spread
        return np.asarray(np.clip(scaled, -8, 8), np.float32)


def forest(train: Examples, valid: Examples, seeds: Sequence[int], trees: int = 100) -> Predict:
    """Random forests on the features, as k-fingerprinting has them: for the first two seeds."""
    from sklearn.ensemble import RandomForestClassifier

    made = [
        RandomForestClassifier(
            n_estimators=trees, min_samples_leaf=2, max_features="sqrt", random_state=seed
        ).fit(train.features, train.labels)
        for seed in seeds[:2]
    ]
    return lambda features: np.stack([_all(one, features, train.classes) for one in made])


def nearest(train: Examples, valid: Examples, seeds: Sequence[int]) -> Predict:
    """The nearest examples in the space of scaled features; as many as validate best."""
    from sklearn.neighbors import KNeighborsClassifier

    scale = Scale(train.features)
    x, best = scale(train.features), None
    for count in (3, 7, 15, 31):
        model = KNeighborsClassifier(min(count, len(x)), weights="distance").fit(x, train.labels)
        right = float(model.score(scale(valid.features), valid.labels))
        if best is None or right > best[0]:
            best = (right, model)
    assert best is not None
    model = best[1]
    return lambda features: _all(model, scale(features), train.classes)[None]


def _all(model: object, features: Floats, classes: int) -> Doubles:
    """Probabilities of all labels, those included that the model has not met."""
    found = np.zeros((len(features), classes))
    found[:, model.classes_] = model.predict_proba(features)  # type: ignore[attr-defined]
    return found


def maxout(train: Examples, valid: Examples, seeds: Sequence[int]) -> Predict:
    """The discriminator of the adversarial nets: maxout units with dropout, one per seed."""
    from hopflow.observer.learned import fit

    scale = Scale(train.features)
    trained = fit(
        (scale(train.features), train.labels),
        (scale(valid.features), valid.labels),
        train.classes,
        seeds,
    )
    return lambda features: trained(scale(features))


ADVERSARIES: dict[str, Adversary] = {"maxout": maxout, "forest": forest, "nearest": nearest}
"""All adversaries that train."""
