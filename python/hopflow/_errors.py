"""The package's exception."""


class HopflowError(Exception):
    """What was given cannot be used, or runs failed; the message says what is allowed."""
