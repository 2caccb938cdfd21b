"""Train on SageMaker, or here as there: the same as `infinite-rl submit`."""

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
    sys.exit(main(["submit", *sys.argv[1:]]))
