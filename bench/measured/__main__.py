"""Compares predictions with measured runs: `python -m bench.measured DIR`."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from bench.measured import run
from bench.measured.origins import FIELDS, origins
from bench.measured.page import PAGE, tables, written
from bench.measured.report import report
from bench.measured.summary import data

BESIDE = Path("../shared/cases")
SHOWN = 8

MORE = """\
DIR holds serving.jsonl, training.jsonl, other.jsonl and throughput.jsonl: one measured run a line,
as a JSON object whose fields docs/measured.md describes; null stands for what is not known. A file
that is not there is skipped. What was measured is never told to the prediction.
"""


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.measured",
        description="Compare predictions with measured runs of engines, trainers and pipelines.",
        epilog=MORE,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument(
        "folder", metavar="DIR", type=Path, nargs="?", default=BESIDE, help="folder of cases"
    )
    parser.add_argument(
        "--show", metavar="N", type=int, default=SHOWN, help=f"worst rows shown (default: {SHOWN})"
    )
    parser.add_argument("--json", action="store_true", help="the figures for machines")
    parser.add_argument(
        "--table", action="store_true", help="write the figures into docs/measured.md"
    )
    parser.add_argument(
        "--by", choices=FIELDS, help="the errors of each group by this field of its rows"
    )
    asked = parser.parse_args(arguments)
    found = run(asked.folder)
    if asked.table:
        text = PAGE.read_text(encoding="utf-8")
        PAGE.write_text(written(text, tables(found)), encoding="utf-8")
    if asked.json:
        print(json.dumps(data(found), indent=2))
    elif asked.by:
        print(origins(found, asked.by))
    elif not asked.table:
        print(report(found, asked.show))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
