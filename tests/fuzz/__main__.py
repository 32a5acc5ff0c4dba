"""`python -m tests.fuzz files --count 100000 --seed 0`, `python -m tests.fuzz statements --count 1000000`."""

from __future__ import annotations

import argparse
import sys

from tests.fuzz import statements
from tests.fuzz.files import campaign


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    commands = parser.add_subparsers(required=True)
    files = commands.add_parser("files", help="read files that were damaged")
    campaign.add_arguments(files)
    files.set_defaults(run=campaign.run)
    texts = commands.add_parser("statements", help="put statements that nobody meant to the preprocessor")
    statements.add_arguments(texts)
    texts.set_defaults(run=statements.run)
    arguments = parser.parse_args()
    return int(arguments.run(arguments))


if __name__ == "__main__":
    sys.exit(main())
