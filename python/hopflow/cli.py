"""The command line: that of the program `hopflow`, and what needs Python besides."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import hopflow
from hopflow import experiments
from hopflow._binding import PROGRAM, native
from hopflow._errors import BAD_INPUT, INTERRUPTED, HopflowError
from hopflow._extra import call


def main(arguments: Sequence[str]) -> int:
    """Does what a command line says; returns the exit code."""
    try:
        match list(arguments):
            case ["observe", *rest]:
                return call("hopflow.observer.cli:observe", rest) or 0
            case ["campaign", *rest]:
                return call("hopflow.campaign.cli:campaign", rest, extra="campaign") or 0
            case ["sweep", *rest] if any(word.startswith("--vary") for word in rest):
                return call("hopflow.campaign.cli:campaign", rest, extra="campaign") or 0
            case ["reproduce", *rest] if any(word.startswith("--cluster") for word in rest):
                return call("hopflow.campaign.cli:reproduce", rest, extra="campaign") or 0
            case ["reproduce", *rest] if any(name in experiments.REGISTRY for name in _names(rest)):
                reproduce(rest)
                return 0
            case others:
                module = native()
                return module.main(others, PROGRAM, Path(module.__file__))
    except (HopflowError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return BAD_INPUT
    except KeyboardInterrupt:
        print("error: interrupted", file=sys.stderr)
        return INTERRUPTED


_FLAGS = ("--quick", "--json", "--help", "-h")
"""The options of `reproduce`, here and in the program, that have no value."""


def _names(words: Sequence[str]) -> Iterator[str]:
    """The words of `reproduce` that are neither options nor values of options."""
    is_value = False
    for word in words:
        if is_value:
            is_value = False
        elif word.startswith("-"):
            # Flags may be shortened.
            is_value = "=" not in word and not any(flag.startswith(word) for flag in _FLAGS)
        else:
            yield word


def reproduce(arguments: Sequence[str]) -> None:
    """Makes an experiment again that is made in Python.

    Raises:
        HopflowError: It does not take an option, data or packages are missing, or the folder holds
            something else.
    """
    options = _parser().parse_args(arguments)
    name: str = options.experiment
    if name not in experiments.REGISTRY:
        allowed = ", ".join(experiments.REGISTRY)
        raise HopflowError(f"there is no experiment {name!r} in Python; allowed: {allowed}")
    hopflow.reproduce(
        name,
        out=options.out,
        seeds=options.seeds,
        data=options.data,
        quick=options.quick,
        threads=options.threads,
        epochs=options.epochs,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog=f"{PROGRAM} reproduce",
        description="Make a figure or table again that needs Python. No experiment takes all "
        "options; others are refused.",
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
