"""Writing models of users to files that the simulator reads.

A file is in the format safetensors. The tables and weights are its tensors; the rest is JSON under
the metadata key `hopflow-traffic`. The Rust crate `hopflow-traffic` describes both.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors.numpy import save_file

from hopflow.traffic.baselines import Empirical, Parametric
from hopflow.traffic.copula import Copula
from hopflow.traffic.data import BULK_THINK, WEB_THINK
from hopflow.traffic.marginals import Marginals
from hopflow.traffic.markov import PACKET_BYTES, Chain
from hopflow.traffic.vector import LEVELS

#: The metadata key of the description.
KEY = "hopflow-traffic"

#: Version of the description.
VERSION = 1

Tensors = dict[str, NDArray[Any]]

#: How a class of users plays a step: a page is one download, files are one each.
_PLAYS = {"web": ("page", WEB_THINK), "bulk": ("files", BULK_THINK)}


def _classes(names: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    return {name: {"play": _PLAYS[name][0], "think": list(_PLAYS[name][1])} for name in names}


def _save(path: Path, description: dict[str, Any], tensors: Tensors) -> None:
    description = {"version": VERSION, **description}
    text = json.dumps(description, sort_keys=True, separators=(",", ":"))
    save_file({name: np.ascontiguousarray(t) for name, t in tensors.items()}, path, {KEY: text})


def _marginals(models: Mapping[str, Marginals]) -> Tensors:
    tables: Tensors = {f"{name}.marginals": table.values for name, table in models.items()}
    first = next(iter(models.values()))
    return {"levels": np.array(LEVELS), "probabilities": first.probabilities, **tables}


def write_copula(path: Path, models: Mapping[str, Copula]) -> None:
    """Writes the copulas of classes of users."""
    factors: Tensors = {f"{name}.factor": model.factor for name, model in models.items()}
    tables = _marginals({name: model.marginals for name, model in models.items()})
    _save(path, {"kind": "copula", "classes": _classes(models)}, {**tables, **factors})


def write_generator(
    path: Path,
    marginals: Mapping[str, Marginals],
    layers: list[tuple[NDArray[np.float32], NDArray[np.float32]]],
) -> None:
    """Writes a generator: marginals of its classes, and weights and biases of its layers.

    A layer's weights are `[inputs, outputs]`. The input of the first is noise, uniform with unit
    variance, and behind it a one for the class and a zero for every other, in the order of
    `marginals`. Layers but the last are rectified; the last ends in a sigmoid.
    """
    order = list(marginals)
    tensors = _marginals(marginals)
    for number, (weight, bias) in enumerate(layers):
        tensors[f"layers.{number}.weight"] = weight.astype(np.float32)
        tensors[f"layers.{number}.bias"] = bias.astype(np.float32)
    noise = layers[0][0].shape[0] - len(order)
    description = {
        "kind": "generator",
        "classes": _classes(marginals),
        "order": order,
        "noise": noise,
        "layers": len(layers),
    }
    _save(path, description, tensors)


def write_parametric(path: Path, models: Mapping[str, Parametric]) -> None:
    """Writes the independent distributions of classes of users."""
    parameters = {name: asdict(model) for name, model in models.items()}
    _save(path, {"kind": "parametric", "classes": _classes(models), "parameters": parameters}, {})


def write_empirical(path: Path, models: Mapping[str, Empirical]) -> None:
    """Writes sessions themselves. The file holds the data: it is for own use only."""
    tensors: Tensors = {}
    for name, model in models.items():
        for kind in ("objects", "uploads"):
            lists = [getattr(step, kind) for step in model.steps]
            ends = np.cumsum([len(sizes) for sizes in lists])
            tensors[f"{name}.{kind}"] = np.array([s for sizes in lists for s in sizes], np.uint64)
            tensors[f"{name}.{kind}.ends"] = ends.astype(np.uint64)
        tensors[f"{name}.first"] = np.array([step.first for step in model.steps], np.uint64)
    _save(path, {"kind": "empirical", "classes": _classes(models)}, tensors)


def write_markov(path: Path, streams: Chain, packets: Chain) -> None:
    """Writes the hidden Markov models of streams and packets, for web users.

    The file holds the published parameters: it is for own use only.
    """
    tensors: Tensors = {}
    for name, chain in (("streams", streams), ("packets", packets)):
        tensors[f"{name}.start"] = chain.start
        tensors[f"{name}.transition"] = chain.transition
        tensors[f"{name}.emission"] = chain.emission
        tensors[f"{name}.gaps"] = chain.gaps.reshape(len(chain.start), -1)
    description = {
        "kind": "markov",
        "classes": {"web": {"play": "files", "think": list(WEB_THINK)}},
        "packet": PACKET_BYTES,
        "streams": list(streams.symbols),
        "packets": list(packets.symbols),
    }
    _save(path, description, tensors)
