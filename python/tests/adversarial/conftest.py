"""Small nets and data for the tests of adversarial nets."""

from __future__ import annotations

from importlib.util import find_spec

import pytest

pytest.importorskip("jax", reason="needs the extra `adversarial`")

from hopflow.adversarial import Game, data, paper
from hopflow.adversarial.data import Split


@pytest.fixture(scope="session")
def with_faces() -> None:
    """Skips what needs the faces where their package is not installed."""
    if find_spec(data.FACES_PACKAGE) is None:
        pytest.skip(f"no package {data.FACES_PACKAGE} with the faces")


@pytest.fixture(scope="session")
def digits() -> Split:
    return data.digits()


@pytest.fixture(scope="session")
def game(digits: Split) -> Game:
    return paper.small(digits.train.x)
