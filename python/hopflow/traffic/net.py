"""A trained generator without the framework that trained it: what the simulator computes."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open

from hopflow.traffic.files import KEY
from hopflow.traffic.marginals import Marginals
from hopflow.traffic.step import Floats, Step
from hopflow.traffic.vector import decode

#: Weights, `[inputs, outputs]`, and biases of a layer.
Weights = tuple[NDArray[np.float32], NDArray[np.float32]]


@dataclass(frozen=True, slots=True)
class Net:
    """A conditioned generator: rectified layers, and a last one that ends in a sigmoid."""

    layers: list[Weights]
    #: By class, in the order of the condition.
    marginals: dict[str, Marginals]

    @property
    def noise(self) -> int:
        """Number of noise inputs."""
        return int(self.layers[0][0].shape[0]) - len(self.marginals)

    def unit(self, class_: str, z: NDArray[np.float32]) -> Floats:
        """What the net makes of noise: probabilities of features, one row for each of `z`."""
        condition = np.zeros((len(z), len(self.marginals)), np.float32)
        condition[:, list(self.marginals).index(class_)] = 1.0
        values = np.concatenate([z, condition], axis=1)
        for weight, bias in self.layers[:-1]:
            values = np.maximum(values @ weight + bias, 0.0)
        weight, bias = self.layers[-1]
        return 1.0 / (1.0 + np.exp(-(values @ weight + bias).astype(np.float64)))

    def of(self, class_: str) -> Conditioned:
        """The generator for users of one class."""
        return Conditioned(self, class_)

    def draw_noise(self, count: int, rng: np.random.Generator) -> NDArray[np.float32]:
        """Rows of noise: uniform with unit variance."""
        bound = 3.0**0.5
        return rng.uniform(-bound, bound, (count, self.noise)).astype(np.float32)

    def calibrated(self, seed: int, count: int = 20_000) -> Net:
        """The net with marginals that make up for how its own outputs are distributed.

        Its features then have the fitted distributions, and the net only decides on how they
        depend on each other. Nothing but draws of the net is needed.
        """
        z = self.draw_noise(count, np.random.default_rng([1948, seed]))
        mended = {name: table.after(self.unit(name, z)) for name, table in self.marginals.items()}
        return Net(self.layers, mended)


@dataclass(frozen=True, slots=True)
class Conditioned:
    """A generator that is told one class."""

    net: Net
    class_: str

    def sample(self, count: int, rng: np.random.Generator) -> list[Step]:
        """Draws steps."""
        unit = self.net.unit(self.class_, self.net.draw_noise(count, rng))
        return decode(self.net.marginals[self.class_].from_unit(unit))


def read_generator(path: Path) -> Net:
    """Reads a generator that `write_generator` wrote."""
    with safe_open(path, framework="numpy") as file:
        description = json.loads(file.metadata()[KEY])
        if description["kind"] != "generator":
            raise ValueError(f"{path}: is a {description['kind']}; allowed is a generator")
        layers = [
            (file.get_tensor(f"layers.{n}.weight"), file.get_tensor(f"layers.{n}.bias"))
            for n in range(description["layers"])
        ]
        tables = {name: file.get_tensor(f"{name}.marginals") for name in description["order"]}
    return Net(layers, {name: Marginals(values) for name, values in tables.items()})
