"""Make a data set: the same as `infinite-rl generate`."""

import sys

from infinite_rl.cli import main

if __name__ == "__main__":
    sys.exit(main(["generate", *sys.argv[1:]]))
