"""The way to what needs packages that the package itself does not: the extra `adversarial`."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import Any

from hopflow._errors import HopflowError


def load(function: str) -> Callable[..., Any]:
    """The function `module:function`.

    Raises:
        ImportError: It needs packages that are not installed.
    """
    module, name = function.split(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def call(function: str, *arguments: Any) -> Any:
    """Calls `module:function`.

    Raises:
        HopflowError: A package is missing; the message names the extra that has it.
    """
    try:
        return load(function)(*arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "hopflow":
            raise
        raise HopflowError(
            f"this needs the package {error.name}; `pip install 'hopflow[adversarial]'`, "
            "in hopflow's source `pip install '.[adversarial]'`"
        ) from error
