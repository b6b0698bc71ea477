"""`python -m hopflow`."""

import signal
import sys

from hopflow.cli import main

if __name__ == "__main__":
    # As for Ctrl-C: what it started ends with it.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(main(sys.argv[1:]))
