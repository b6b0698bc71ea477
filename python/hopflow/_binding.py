"""The way to the compiled part of the package, which is loaded when it is first needed."""

from __future__ import annotations

import functools
import importlib
from pathlib import Path
from typing import TYPE_CHECKING

from hopflow._errors import HopflowError

if TYPE_CHECKING:
    from hopflow._native import Native

PROGRAM = "python -m hopflow"
"""How reports name the program."""


@functools.cache
def native() -> Native:
    """The module `hopflow._native`.

    Raises:
        HopflowError: It was not compiled: the package's sources alone are on the path. Or its file
            cannot be read.
    """
    try:
        module: Native = importlib.import_module("hopflow._native")  # type: ignore[assignment]
    except ImportError as error:
        raise HopflowError(
            f"the compiled part of hopflow is missing ({error}); "
            "`pip install .` in hopflow's source builds it"
        ) from error
    # An installation may replace the file at any time, and runs are of the code that is loaded.
    module.build(Path(module.__file__))
    return module
