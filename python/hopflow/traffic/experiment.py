"""How well models of users do on sessions that none was fitted on: `traffic-table`."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from hopflow import HopflowError
from hopflow._data import find
from hopflow.experiments import Options, Value, origin, write_values
from hopflow.report import Cell, Page, figures
from hopflow.traffic import data, files, privcount
from hopflow.traffic.baselines import Crude, Empirical, Parametric, StepModel
from hopflow.traffic.copula import Copula
from hopflow.traffic.judge import QUANTITIES, Judge, Measured, acceptable, real, summary
from hopflow.traffic.markov import Markov
from hopflow.traffic.net import Net, read_generator
from hopflow.traffic.step import Split, Step, split

#: Seeds of draws, and of trained generators.
SEEDS = 5

#: The baseline that a generator has to beat.
RIVAL = "copula"

#: Steps of each model whose sizes are set beside the live network's.
STEPS_BESIDE_LIVE = 500

Tables = Mapping[str, Mapping[str, Sequence[Measured]]]
"""What was measured, by class of users and model."""


@dataclass(frozen=True, slots=True)
class Published:
    """What is read from the published files."""

    sessions: dict[str, list[Step]]
    markov: Markov
    #: Bytes that streams carried to clients.
    tally: privcount.Histogram

    @classmethod
    def read(cls, folder: Path | None) -> Published:
        """Reads them; `folder` as for `data.load`.

        Raises:
            HopflowError: A file is missing, or holds something else.
        """
        tallies = find(data.TALLIES_FILE, folder)
        tally = privcount.Histogram.read(tallies, privcount.INBOUND)
        return cls(data.load(folder), Markov.read(folder), tally)


@dataclass(frozen=True, slots=True)
class Fitted:
    """Models without a net that are part of the program, by class of users."""

    parametric: dict[str, Parametric]
    copula: dict[str, Copula]

    @classmethod
    def to(cls, splits: Mapping[str, Split]) -> Fitted:
        """Models of the training sessions."""
        parametric, copula = {}, {}
        for name, sessions in splits.items():
            parametric[name] = Parametric.fit(sessions.train)
            copula[name] = Copula.fit(sessions.train, np.random.default_rng(0))
        return cls(parametric, copula)

    def write(self, folder: Path) -> None:
        """Writes a file for each model into a folder, which is made if needed."""
        folder.mkdir(parents=True, exist_ok=True)
        files.write_parametric(folder / "parametric.safetensors", self.parametric)
        files.write_copula(folder / "copula.safetensors", self.copula)


@dataclass(frozen=True, slots=True)
class Live:
    """Sizes beside those of the live network's streams."""

    bins: list[str]
    #: The share in each bin, by who has it.
    shares: dict[str, list[float]]


def table(options: Options) -> None:
    """Fits and trains all models and compares them; writes `values.csv`, text, and a page.

    The folder `models` then holds the models that are part of the program, as the simulator reads
    them; the generator is that of the seed that did best on validation sessions.

    Raises:
        HopflowError: Data are missing, or hold something else.
    """
    published = Published.read(options.data)
    seeds = options.seeds or (2 if options.quick else SEEDS)
    splits = {name: split(sessions) for name, sessions in published.sessions.items()}
    paths = trained(splits, seeds, options)
    nets = [read_generator(path) for path in paths]
    best = _best(paths)
    fitted = Fitted.to(splits)
    fitted.write(options.out / "models")
    shutil.copyfile(paths[best], options.out / "models" / "generator.safetensors")
    tables = {name: _measured(name, published, fitted, nets) for name in splits}
    live = _beside_live(published, splits["web"], nets[best])
    values = [
        value
        for name, found in tables.items()
        for model, runs in found.items()
        for value in _values(name, model, runs)
    ]
    text = _text(tables, live)
    print(text)
    page = _page(options, tables, live).add(origin("traffic-table", options, seeds))
    (options.out / "table.txt").write_text(text, encoding="utf-8")
    write_values(options.out, values)
    try:
        page.write(options.out)
    except HopflowError as missing:
        print(f"no page: {missing}")


def _measured(
    name: str, published: Published, fitted: Fitted, nets: Sequence[Net]
) -> dict[str, list[Measured]]:
    """What all models of a class of users show, and last what real sessions do."""
    sessions = split(published.sessions[name])
    judge = Judge.of(sessions)
    models: dict[str, StepModel] = {
        "crude": Crude.of(name),
        "parametric": fitted.parametric[name],
        RIVAL: fitted.copula[name],
        "empirical": Empirical(sessions.train),
    }
    if name == "web":
        models["markov"] = published.markov
    seeds = range(len(nets))
    found = {
        model: [judge.measure(drawn, seed) for seed in seeds] for model, drawn in models.items()
    }
    found["generator"] = [judge.measure(net.of(name), seed) for seed, net in enumerate(nets)]
    found["real"] = real(published.sessions[name], len(nets))
    return found


def _best(paths: Sequence[Path]) -> int:
    """The number of the generator that trees told worst from validation sessions in training."""
    histories = [json.loads(path.with_suffix(".json").read_text())["history"] for path in paths]
    return int(np.argmin([min(told for _, told in history) for history in histories]))


def _beside_live(published: Published, sessions: Split, net: Net) -> Live:
    """Shares of sizes as the live network's tally divides them."""
    models: dict[str, StepModel] = {"generator": net.of("web"), "markov": published.markov}
    shares = {"live network": published.tally.shares.tolist()}
    shares["held-out pages"] = published.tally.shares_of(_sizes(sessions.test)).tolist()
    for name, model in models.items():
        drawn = model.sample(STEPS_BESIDE_LIVE, np.random.default_rng(2017))
        shares[name] = published.tally.shares_of(_sizes(drawn)).tolist()
    return Live(published.tally.bins, shares)


def _sizes(steps: Sequence[Step]) -> list[float]:
    return [float(size) for step in steps for size in (step.first, *step.objects)]


def trained(splits: Mapping[str, Split], seeds: int, options: Options) -> list[Path]:
    """Files of trained generators, one a seed.

    Those that the folder has are kept if they were made by the same recipe, of the same version,
    from the same sessions.
    """
    from hopflow.traffic.generator import VERSION, Recipe, train_generator

    recipe = Recipe(epochs=20, look=10) if options.quick else Recipe()
    if options.epochs is not None:
        recipe = replace(recipe, epochs=options.epochs)
    made_by = {"version": VERSION, "recipe": repr(recipe), "sessions": _digest(splits)}
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
    made_by = found.get("made_by") if isinstance(found, dict) else None
    # A record without a version is of the first.
    return {"version": 1, **made_by} if isinstance(made_by, dict) else None


def _values(name: str, model: str, runs: Sequence[Measured]) -> list[Value]:
    mean, half = summary(runs)
    return [
        Value(
            figure="traffic-table",
            quantity=f"{name}: {quantity}",
            unit=unit,
            transport=model,
            x=None,
            n=len(runs),
            mean=float(mean[i]),
            ci_low=None if half is None else float(mean[i] - half[i]),
            ci_high=None if half is None else float(mean[i] + half[i]),
        )
        for i, (quantity, unit) in enumerate(QUANTITIES)
    ]


def _text(tables: Tables, live: Live) -> str:
    """The tables for people: means and half the widths of intervals."""
    lines = []
    for name, found in tables.items():
        lines.append(f"{name}: {_verdict(found)}")
        summaries = {model: summary(runs) for model, runs in found.items()}
        for i, (quantity, unit) in enumerate(QUANTITIES):
            lines.append(f"  {_titled(quantity, unit)}")
            for model, (mean, half) in summaries.items():
                interval = "" if half is None else f" ± {half[i]:.3f}"
                lines.append(f"    {model:<12}{mean[i]:9.3f}{interval}")
    lines.append("sizes: shares in the bins of the live network's tally")
    for who, shares in live.shares.items():
        lines.append(f"    {who:<15}" + "".join(f"{share:7.2f}" for share in shares))
    return "\n".join(lines) + "\n"


def _titled(quantity: str, unit: str) -> str:
    return f"{quantity} ({unit})" if unit else quantity


def _verdict(found: Mapping[str, Sequence[Measured]]) -> str:
    takes = acceptable(found["generator"], found[RIVAL])
    return f"the generator {'replaces' if takes else 'does not replace'} the {RIVAL}"


def _page(options: Options, tables: Tables, live: Live) -> Page:
    page = Page("Learned users", "Distance of drawn steps from held-out sessions.")
    if options.quick:
        page.section("A smaller version").prose(
            "Generators were trained for a few epochs only: their numbers are not results."
        )
    for name, found in tables.items():
        page.section(f"{name.capitalize()} users").prose(
            f"By the rule, {_verdict(found)}. Means over seeds of draws, and for the generator of "
            "training. Intervals (95 %) are over seeds and over which sessions were held out, for "
            "fixed models and classifiers. `real` compares held-out sessions with other real ones, "
            "divided anew for each seed: no model can be expected to do better. 0.5 is chance for "
            "accuracies, 1 is ideal for `memorisation`."
        ).table(["quantity", *found], list(_rows(found)))
    page.section("Comparison with the live network").prose(
        "PrivCount's tally of the bytes that streams carried to clients, and sizes of objects: "
        "streams are not objects, and only the shape can be compared."
    ).table(
        ["shares of sizes", *live.bins],
        [[who, *(figures(f"{share:.2f}") for share in row)] for who, row in live.shares.items()],
    )
    return page


def _rows(found: Mapping[str, Sequence[Measured]]) -> Iterator[list[Cell]]:
    summaries = [summary(runs) for runs in found.values()]
    for i, (quantity, unit) in enumerate(QUANTITIES):
        cells = [
            float(mean[i]) if half is None else (float(mean[i]), float(half[i]))
            for mean, half in summaries
        ]
        yield [_titled(quantity, unit), *cells]
