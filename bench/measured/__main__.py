"""`python -m bench.measured CASES_DIR [--show N]`: the table for the serving cases."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from bench.measured.cases import Case, Skip, read
from bench.measured.score import report, score
from gpusize_catalog.store import Catalog, load

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
    skipped: Counter[str] = Counter()
    rows = path.read_text(encoding="utf-8").splitlines()
    cases = [_read(json.loads(row), catalog, skipped) for row in rows]
    known = [case for case in cases if case is not None]
    print(report(score(known, catalog, skipped), show))
    return 0


def _read(row: dict[str, Any], catalog: Catalog, skipped: Counter[str]) -> Case | None:
    try:
        return read(row, catalog)
    except Skip as reason:
        skipped[str(reason)] += 1
        return None


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
