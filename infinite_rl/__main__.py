"""`python -m infinite_rl` is `infinite-rl`."""

import sys

from .cli import main

if __name__ == "__main__":
    sys.exit(main())
