"""Train a model: the same as `infinite-rl train`."""

import sys

try:
    from infinite_rl.cli import main
except ModuleNotFoundError as error:
    if error.name != "infinite_rl":
        raise
    sys.exit(
        f"error: infinite_rl is not installed for {sys.executable}: use the Python of the virtual "
        "environment that the README sets up (.venv/bin/python)"
    )

if __name__ == "__main__":
    sys.exit(main(["train", *sys.argv[1:]]))
