"""The command line: that of the program `hopflow`, and what needs Python besides."""

from __future__ import annotations

import argparse
import importlib
import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from hopflow import experiments
from hopflow._binding import native
from hopflow._errors import HopflowError

PROGRAM = "python -m hopflow"
"""How reports name the program."""

MARKER = "experiment.json"
"""What claims a folder for the results of an experiment that is made in Python."""

_BAD_INPUT, _INTERRUPTED = 2, 130


def main(arguments: Sequence[str]) -> int:
    """Does what a command line says; returns the exit code."""
    try:
        match list(arguments):
            case ["observe", *rest]:
                return _call("hopflow.observer.cli:observe", rest) or 0
            case ["reproduce", *rest] if any(name in experiments.REGISTRY for name in rest):
                reproduce(rest)
                return 0
            case others:
                module = native()
                return module.main(others, PROGRAM, Path(module.__file__))
    except (HopflowError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return _BAD_INPUT
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return _INTERRUPTED


def reproduce(arguments: Sequence[str]) -> None:
    """Makes an experiment again that is made in Python.

    Raises:
        HopflowError: It needs packages that are not installed, or the folder holds something else.
    """
    options = _parser().parse_args(arguments)
    name: str = options.experiment
    if name not in experiments.REGISTRY:
        allowed = ", ".join(experiments.REGISTRY)
        raise HopflowError(f"there is no experiment {name!r} in Python; allowed: {allowed}")
    out: Path = options.out or Path("results") / name
    _claim(out, name)
    chosen = experiments.Options(
        out=out,
        seeds=options.seeds,
        data=options.data,
        quick=options.quick,
        threads=options.threads,
        epochs=options.epochs,
    )
    _call(experiments.REGISTRY[name], chosen)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} reproduce",
        description="Make a figure or table again that needs Python.",
    )
    parser.add_argument("experiment", help=", ".join(experiments.REGISTRY))
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="folder for the results [results/NAME]"
    )
    parser.add_argument("--seeds", type=_positive, metavar="N", help="number of seeds")
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of the data set")
    parser.add_argument(
        "--threads", type=_positive, metavar="N", help="processes at the same time [one per core]"
    )
    parser.add_argument(
        "--epochs", type=_positive, metavar="N", help="epochs of training, where nets are trained"
    )
    parser.add_argument(
        "--quick", action="store_true", help="a smaller version, which is called so"
    )
    return parser


def _positive(text: str) -> int:
    number = int(text) if text.isdecimal() else 0
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text!r}; allowed are whole numbers from 1 on")
    return number


def _claim(folder: Path, name: str) -> None:
    """Claims a folder, unless it holds anything but results of the same experiment."""
    marker = folder / MARKER
    found: Any = None
    try:
        if marker.is_file():
            found = json.loads(marker.read_text(encoding="utf-8")).get("experiment")
        occupied = folder.exists() and (not folder.is_dir() or any(folder.iterdir()))
        if occupied and found != name:
            raise HopflowError(
                f"{folder} holds something else, which is left as it is; allowed is a folder that "
                f"is new, empty, or holds results of {name}: choose another with --out"
            )
        folder.mkdir(parents=True, exist_ok=True)
        marker.write_text(json.dumps({"experiment": name}) + "\n", encoding="utf-8")
    except (OSError, ValueError) as error:
        raise HopflowError(f"the folder {folder} cannot be used: {error}") from error


def _call(function: str, *arguments: Any) -> Any:
    """Calls `module:function`; a package that is missing names the extra that has it."""
    module, name = function.split(":")
    try:
        found: Callable[..., Any] = getattr(importlib.import_module(module), name)
        return found(*arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "hopflow":
            raise
        raise HopflowError(
            f"this needs the package {error.name}; `pip install 'hopflow[adversarial]'`, "
            "in hopflow's source `pip install '.[adversarial]'`"
        ) from error
