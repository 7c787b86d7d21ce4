"""`python -m bench.measured CASES_DIR [--show N]`: the table for the serving cases."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.measured.cases import read_all
from bench.measured.score import report, score
from gpusize_catalog.store import load

FILE = "serving.jsonl"
SHOWN = 8


def main(arguments: list[str]) -> int:
    folder = Path(arguments[0]) if arguments else Path("../shared/cases")
    show = int(arguments[2]) if len(arguments) > 2 and arguments[1] == "--show" else SHOWN
    path = folder / FILE
    if not path.is_file():
        print(f"skipped: no {FILE} in the folder given")
        return 0
    catalog = load()
    cases, skipped = read_all(path, catalog)
    print(report(score(cases, catalog, skipped), show))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
