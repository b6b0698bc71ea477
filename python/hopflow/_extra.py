"""The way to what needs packages that the package itself does not: extras such as `adversarial`."""

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


def call(function: str, *arguments: Any, extra: str = "adversarial") -> Any:
    """Calls `module:function`.

    Args:
        function: Its module and name.
        arguments: What it takes.
        extra: The extra that has the packages that it needs.

    Raises:
        HopflowError: A package is missing; the message names the extra that has it.
    """
    try:
        return load(function)(*arguments)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.split(".")[0] == "hopflow":
            raise
        raise HopflowError(
            f"this needs the package {error.name}; `pip install 'hopflow[{extra}]'`, "
            f"in hopflow's source `pip install '.[{extra}]'`"
        ) from error
