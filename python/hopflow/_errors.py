"""The package's exception, and exit codes."""

BAD_INPUT = 2
"""The exit code after an error in what was given."""

INTERRUPTED = 130
"""The exit code after Ctrl-C."""


class HopflowError(Exception):
    """What was given cannot be used, or runs failed; the message says what is allowed."""
