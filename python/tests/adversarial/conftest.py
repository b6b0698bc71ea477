"""Small nets and data for the tests of adversarial nets."""

from __future__ import annotations

import pytest

pytest.importorskip("jax", reason="needs the extra `adversarial`")

from hopflow.adversarial import Game, data, paper
from hopflow.adversarial.data import Split


@pytest.fixture(scope="session")
def digits() -> Split:
    return data.digits()


@pytest.fixture(scope="session")
def game(digits: Split) -> Game:
    return paper.small(digits.train.x)
