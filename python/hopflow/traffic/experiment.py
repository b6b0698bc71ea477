"""How well models of users do on sessions that none was fitted on: `traffic-table`."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hopflow import HopflowError
from hopflow.experiments import Options, Value, half_width, origin, write_values
from hopflow.traffic import data, metrics
from hopflow.traffic.baselines import Crude, Empirical, Parametric, StepModel
from hopflow.traffic.copula import Copula
from hopflow.traffic.markov import Markov
from hopflow.traffic.net import read_generator
from hopflow.traffic.step import Floats, Split, split

#: Seeds of draws, and of trained generators.
SEEDS = 5

#: Steps that distances of distributions are taken of.
DRAWN = 2_000

#: The baseline that a generator has to beat.
RIVAL = "copula"

#: What is told of a model: name, unit, and what would be perfect.
QUANTITIES: tuple[tuple[str, str], ...] = (
    ("W1, mean of features", "sd"),
    ("W1, log bytes of a step", "log"),
    ("W1, log number of objects", "log"),
    ("error of correlations", ""),
    ("trees: accuracy", ""),
    ("trees: AUC", ""),
    ("nearest neighbour: accuracy", ""),
    ("memorisation", ""),
)


@dataclass(frozen=True, slots=True)
class Measured:
    """What one seed of a model showed: the quantities, and Wasserstein-1 of each feature."""

    quantities: Floats
    wasserstein: Floats


@dataclass(frozen=True, slots=True)
class Judge:
    """Held-out sessions, and the measures against them."""

    train: Floats
    test: Floats
    scale: metrics.Scale

    @classmethod
    def of(cls, sessions: Split) -> Judge:
        """A judge with the test sessions."""
        train, test = (metrics.features(steps) for steps in (sessions.train, sessions.test))
        scale = metrics.Scale.of(train)
        return cls(scale.apply(train), scale.apply(test), scale)

    def measure(self, model: StepModel, seed: int) -> Measured:
        """Draws from a model and compares."""
        rng = np.random.default_rng([2014, seed])
        steps = model.sample(DRAWN + len(self.test), rng)
        fakes = self.scale.apply(metrics.features(steps))
        many, few = fakes[:DRAWN], fakes[DRAWN:]
        distance = metrics.wasserstein(self.test, many)
        trees = metrics.boosted_test(self.test, few, seed)
        total = metrics.COMPARED.index("total")
        counts = [self._log_count(rows) for rows in (self.test, many)]
        quantities = [
            distance.mean(),
            distance[total] * self.scale.deviation[total],
            metrics.wasserstein(*counts)[0],
            metrics.correlation_error(self.test, many),
            trees.accuracy,
            trees.auc,
            metrics.nearest_neighbour_test(self.test, few).accuracy,
            metrics.memorisation(self.train, self.test, many),
        ]
        return Measured(np.array(quantities), distance)

    def _log_count(self, rows: Floats) -> Floats:
        column = rows[:, :1] * self.scale.deviation[0] + self.scale.mean[0]
        return np.asarray(np.log1p(np.maximum(column, 0.0)))


def table(options: Options) -> None:
    """Fits and trains all models and compares them; writes `values.csv`, text and a page."""
    seeds = options.seeds or (2 if options.quick else SEEDS)
    splits = {name: split(sessions) for name, sessions in data.load(options.data).items()}
    options.out.mkdir(parents=True, exist_ok=True)
    generators = trained(splits, seeds, options)
    values: list[Value] = []
    accepted: dict[str, bool] = {}
    tables: dict[str, dict[str, list[Measured]]] = {}
    for name, sessions in splits.items():
        judge = Judge.of(sessions)
        models = _models(name, sessions, options.data)
        found = {
            model: [judge.measure(drawn, seed) for seed in range(seeds)]
            for model, drawn in models.items()
        }
        nets = [read_generator(path).of(name) for path in generators]
        found["generator"] = [judge.measure(net, seed) for seed, net in enumerate(nets)]
        accepted[name] = acceptable(found["generator"], found[RIVAL])
        values += [value for model, runs in found.items() for value in _values(name, model, runs)]
        tables[name] = found
    write_values(options.out, values)
    text = _text(tables, accepted)
    (options.out / "table.txt").write_text(text, encoding="utf-8")
    print(text)
    _page(options, tables, accepted, seeds)


def _models(name: str, sessions: Split, folder: Path | None) -> dict[str, StepModel]:
    models: dict[str, StepModel] = {
        "crude": Crude.of(name),
        "parametric": Parametric.fit(sessions.train),
        RIVAL: Copula.fit(sessions.train, np.random.default_rng(0)),
        "empirical": Empirical(sessions.train),
    }
    if name == "web":
        models["markov"] = Markov.read(folder)
    return models


def trained(splits: Mapping[str, Split], seeds: int, options: Options) -> list[Path]:
    """Files of trained generators, one a seed.

    Those that the folder has are kept if they were made by the same recipe from the same sessions.
    """
    from hopflow.traffic.generator import Recipe, train_generator

    recipe = Recipe(epochs=20, look=10) if options.quick else Recipe()
    if options.epochs is not None:
        recipe = replace(recipe, epochs=options.epochs)
    made_by = {"recipe": repr(recipe), "sessions": _digest(splits)}
    folder = options.out / "generators"
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / f"seed-{seed}.safetensors" for seed in range(1, seeds + 1)]
    for seed, path in enumerate(paths, start=1):
        record = path.with_suffix(".json")
        if path.exists() and _made_by(record) == made_by:
            continue
        record.unlink(missing_ok=True)
        best = train_generator(splits, seed, recipe)
        best.write(path)
        text = json.dumps({"made_by": made_by, "history": best.history})
        record.write_text(text + "\n", encoding="utf-8")
    return paths


def _digest(splits: Mapping[str, Split]) -> str:
    """A hash of the sessions that training looks at."""
    seen = [(name, sessions.train, sessions.valid) for name, sessions in splits.items()]
    return hashlib.sha256(repr(seen).encode()).hexdigest()


def _made_by(record: Path) -> object:
    """What the record beside a generator says that it was made by; `None`: nothing."""
    try:
        found = json.loads(record.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return found.get("made_by") if isinstance(found, dict) else None


def acceptable(generator: Sequence[Measured], rival: Sequence[Measured]) -> bool:
    """Whether a generator may take the rival's place.

    Four of five marginals are at most a tenth further from the held-out sessions than the rival's,
    trees tell it worse, and it neither repeats training sessions nor strays from them.
    """
    ours, theirs = (
        np.mean([run.wasserstein for run in runs], axis=0) for runs in (generator, rival)
    )
    near = float(np.mean(ours <= 1.1 * theirs))
    means = [np.mean([run.quantities for run in runs], axis=0) for runs in (generator, rival)]
    area, kept = (_number(name) for name in ("trees: AUC", "memorisation"))
    return near >= 0.8 and means[0][area] < means[1][area] and 0.8 <= means[0][kept] <= 1.25


def _number(quantity: str) -> int:
    return [name for name, _ in QUANTITIES].index(quantity)


def _summary(runs: Sequence[Measured]) -> tuple[Floats, Floats]:
    """Means over seeds, and half the widths of their 95 % intervals (Student's t)."""
    rows = np.array([run.quantities for run in runs])
    if len(rows) == 1:
        return rows[0], np.zeros(rows.shape[1])
    return rows.mean(axis=0), half_width(rows)


def _values(name: str, model: str, runs: Sequence[Measured]) -> list[Value]:
    mean, half = _summary(runs)
    return [
        Value(
            figure="traffic-table",
            quantity=f"{name}: {quantity}",
            unit=unit,
            transport=model,
            x=None,
            n=len(runs),
            mean=float(mean[i]),
            ci_low=float(mean[i] - half[i]),
            ci_high=float(mean[i] + half[i]),
        )
        for i, (quantity, unit) in enumerate(QUANTITIES)
    ]


def _text(
    tables: Mapping[str, Mapping[str, Sequence[Measured]]], accepted: Mapping[str, bool]
) -> str:
    """The tables for people: means and half the widths of intervals."""
    lines = []
    for name, found in tables.items():
        lines.append(f"{name}: {_verdict(accepted[name])}")
        for i, (quantity, unit) in enumerate(QUANTITIES):
            lines.append(f"  {_titled(quantity, unit)}")
            for model, runs in found.items():
                mean, half = _summary(runs)
                lines.append(f"    {model:<12}{mean[i]:9.3f} ± {half[i]:.3f}")
    return "\n".join(lines) + "\n"


def _titled(quantity: str, unit: str) -> str:
    return f"{quantity} ({unit})" if unit else quantity


def _verdict(accepted: bool) -> str:
    return f"the generator {'takes' if accepted else 'does not take'} the place of the {RIVAL}"


def _page(
    options: Options,
    tables: Mapping[str, Mapping[str, Sequence[Measured]]],
    accepted: Mapping[str, bool],
    seeds: int,
) -> None:
    """The page, if the compiled module that draws pages is there."""
    from hopflow.report import Page

    page = Page("Learned users", "How far drawn steps are from sessions that none was fitted on.")
    if options.quick:
        page.section("A smaller version").prose(
            "Generators were trained for a few epochs only: take no numbers of theirs from here."
        )
    for name, found in tables.items():
        section = page.section(f"{name.capitalize()} users")
        section.prose(
            f"By the rule, {_verdict(accepted[name])}. Means over seeds of draws, and for the "
            "generator of training; 0.5 is chance for accuracies, 1 is right for `memorisation`."
        )
        section.table(["quantity", *found], list(_rows(found)))
    page.add(origin("traffic-table", options, seeds))
    try:
        page.write(options.out)
    except HopflowError as missing:
        print(f"no page: {missing}")


def _rows(found: Mapping[str, Sequence[Measured]]) -> Iterator[list[str | tuple[float, float]]]:
    summaries = [_summary(runs) for runs in found.values()]
    for i, (quantity, unit) in enumerate(QUANTITIES):
        yield [
            _titled(quantity, unit),
            *((float(mean[i]), float(half[i])) for mean, half in summaries),
        ]
