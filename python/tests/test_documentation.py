"""The example in the documentation does what it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("name", ["quickstart", "campaign"])
def test_a_notebook_shows_what_its_cells_put_out(name: str) -> None:
    for package in ("pandas", "matplotlib", "duckdb"):
        pytest.importorskip(package)
    notebook = ROOT / "docs" / "examples" / f"{name}.ipynb"
    command = [sys.executable, str(ROOT / "tools" / "run-notebook.py"), "--check", str(notebook)]
    found = subprocess.run(command, capture_output=True, text=True, check=False)
    assert found.returncode == 0, found.stderr


def test_the_data_dictionary_is_that_of_the_program() -> None:
    command = [sys.executable, "-m", "hopflow", "describe", "--markdown"]
    found = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert (ROOT / "docs" / "data-dictionary.md").read_text(encoding="utf-8") == found
