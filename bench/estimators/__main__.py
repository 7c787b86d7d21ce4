"""Compares gpusize with other estimators on measured rows: `python -m bench.estimators`."""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from bench.estimators.running import RUNNER, ask, environments, install, lines_of, score
from bench.estimators.table import misjudged, narrow, nearer, table

HARNESS, CASES = Path("../shared/peers"), Path("../shared/cases")
LIGHT = (
    "vramscout",
    "ridgepoint",
    "kvfit",
    "aiconfigurator",
    "hf_mem",
    "llm_sizer",
    "vramcalc",
    "ftuneai",
)
"""Estimators that install without PyTorch."""
KINDS = {
    "serving": ("serving", "inference"),
    "training": ("training",),
    "other": ("inference",),
    "throughput": ("decode",),
}
"""Kinds of case that a file of rows holds."""
SHOWN = 10


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m bench.estimators",
        description="Hold gpusize and other estimators to the same measured rows.",
    )
    parser.add_argument("--harness", type=Path, default=HARNESS, help="folder of the harness")
    parser.add_argument("--cases", type=Path, default=CASES, help="folder of measured rows")
    parser.add_argument("--peers", default=",".join(LIGHT), help="estimators, or `all`")
    parser.add_argument("--out", type=Path, help="where to keep what was said (default: nowhere)")
    parser.add_argument(
        "--show", metavar="N", type=int, default=SHOWN, help="rows named of each kind"
    )
    asked = parser.parse_args(arguments)
    harness, cases = asked.harness.resolve(), asked.cases.resolve()
    if not (harness / RUNNER).is_file() or not cases.is_dir():
        print(f"skipped: no harness at {asked.harness}, or no rows at {asked.cases}")
        return 0
    known = environments(harness)
    names = list(known) if asked.peers == "all" else asked.peers.split(",")
    install(harness, [known[name] for name in names])
    with tempfile.TemporaryDirectory() as scratch:
        out = asked.out or Path(scratch)
        out.mkdir(parents=True, exist_ok=True)
        for stem, kinds in KINDS.items():
            path = cases / f"{stem}.jsonl"
            if path.is_file():
                said = ask(harness, path, out, names)
                for kind in kinds:
                    print(_section(harness, said, kind, asked.show), flush=True)
    return 0


def _section(harness: Path, said: Path, kind: str, show: int) -> str:
    lines = [line for line in lines_of(said) if line["kind"] == kind]
    rows = nearer(lines)
    parts = [f"## {said.stem}.jsonl, {kind}\n", table(kind, score(harness, said, kind)), ""]
    failed, ran = narrow(lines)
    if failed or ran:
        parts.append(f"gpusize calls tight, which counts as fitting: {failed} failed, {ran} ran")
    parts.append(f"another estimator is nearer by more than ten points on {len(rows)}:")
    parts += [
        f"    {one.id} {one.measure} gpusize {one.ours:+.1%}, {one.peer} {one.theirs:+.1%}"
        for one in rows[:show]
    ]
    parts += [f"    verdict: {line}" for line in misjudged(lines)]
    return "\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
