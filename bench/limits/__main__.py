"""`python -m bench.limits`: what this machine can do at most, without our server."""

import argparse

from bench import harness, limits
from bench.harness import Figure
from bench.servers import DATABASES


def arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--database", choices=DATABASES, default="sqlite")


def measure(options: argparse.Namespace) -> list[Figure]:
    harness.set_up_django()
    found = limits.storing(options.database, options.repeats, options.quick)
    return found + limits.decoding(options.repeats, options.quick)


if __name__ == "__main__":
    harness.run(measure, arguments)
