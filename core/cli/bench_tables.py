"""The commands `bench capture`, `bench clip` and `bench long`: a table, each line with its bar."""

import argparse
import sys

from core.bench.bars import capture, clip, long, report

TABLES = {"capture": capture, "clip": clip, "long": long}


def run(options: argparse.Namespace) -> int:
    """Measure and print a table; 1 if a bar is not met."""
    sys.stdout.write(f"{report.HEADER}\n")
    met = True
    for line in TABLES[options.what].lines():
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
        met = met and (isinstance(line, str) or line.met)
    return 0 if met else 1
