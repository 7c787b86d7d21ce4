"""Prints every figure side by side: `python -m bench [PART …] [--runs N]`."""

from __future__ import annotations

import argparse
import importlib
import sys
import tempfile
from pathlib import Path

from bench.report import render

PARTS = {
    "startup": "start-up of the command, against a bare interpreter and peers",
    "resolve": "resolving over the whole catalog, warm",
    "preview": "preview with the policy pack, against an empty pack and none",
    "unknowns": "cases of the rules with each of their properties not known",
    "random": "random stacks through the policy pack, in every order and both ways",
}
MODULES = {"random": "random_trees"}
"""Modules that are called otherwise than their part."""


def main() -> int:
    """Run the parts asked for; exits 1 when a figure missed its limit."""
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)}")
    parser.add_argument("--runs", type=int, default=0, help="runs of each, 0 for the part's own")
    options = parser.parse_args()
    if unknown := set(options.parts) - set(PARTS):
        parser.error(f"no such part: {', '.join(sorted(unknown))}")
    missed = False
    for part in options.parts or PARTS:
        module = importlib.import_module(f"bench.{MODULES.get(part, part)}")
        with tempfile.TemporaryDirectory() as scratch:
            figures = module.measure(options.runs or module.RUNS, Path(scratch))
        print(render(PARTS[part], figures), flush=True)
        missed |= any(figure.holds is False for figure in figures)
    return int(missed)


if __name__ == "__main__":
    sys.exit(main())
