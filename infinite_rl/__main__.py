"""`infinite-rl`, and `python -m infinite_rl`: the command line, interrupted also while it loads."""

import sys


def main() -> int:
    """Run the command line and return its exit code."""
    try:
        from .cli import main as run

        return run()
    except KeyboardInterrupt:  # before `run` could say so itself
        sys.stderr.write("interrupted\n")
        return 130


if __name__ == "__main__":
    sys.exit(main())
