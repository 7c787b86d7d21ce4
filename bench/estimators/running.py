"""Runs the harness: installs estimators, hands them a file of cases and collects what they say."""

from __future__ import annotations

import json
import os
import runpy
import subprocess
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from bench.estimators.worker import HARNESS

ROOT = Path(__file__).resolve().parents[2]
VENVS = "~/.cache/gpusize-peers"
"""Where the harness installs estimators, one environment each; PEERS_VENVS names another folder."""
RUNNER, INSTALLER, SCORER = "run_peers.py", "install_peers.sh", "score.py"
Line = dict[str, Any]


def environments(harness: Path) -> dict[str, str]:
    """Estimators that the harness knows, and the environment of each."""
    sys.dont_write_bytecode = True
    names: dict[str, str] = runpy.run_path(str(harness / RUNNER), run_name="harness")["PEERS"]
    return names


def install(harness: Path, names: Iterable[str]) -> None:
    """Install the environments that are missing; one that cannot be is told by the runner."""
    folder = Path(os.environ.get("PEERS_VENVS", VENVS)).expanduser()
    missing = [name for name in names if not (folder / name / "bin" / "python").exists()]
    if missing:
        subprocess.run(["bash", str(harness / INSTALLER), *missing], check=False)


def ask(harness: Path, cases: Path, out: Path, names: Sequence[str]) -> Path:
    """A file of what gpusize and the estimators named say, a line a case and estimator."""
    environment = {**os.environ, HARNESS: str(harness), "PYTHONDONTWRITEBYTECODE": "1"}
    parts = [out / f"{cases.stem}.{part}.jsonl" for part in ("ours", "others")]
    ours, others = parts
    commands = (
        ["-m", "bench.estimators.joined", str(cases), str(ours)],
        [str(harness / RUNNER), str(cases), str(others), "--peers", ",".join(names)],
    )
    for command in commands:
        subprocess.run([sys.executable, *command], check=True, cwd=ROOT, env=environment)
    said = out / f"{cases.stem}.jsonl"
    said.write_text("".join(part.read_text(encoding="utf-8") for part in parts), encoding="utf-8")
    return said


def score(harness: Path, said: Path, kind: str, *more: str) -> list[Line]:
    """The harness' own scores of one kind of case, a line an estimator."""
    target = said.with_suffix(f".{kind}.json")
    command = [str(harness / SCORER), str(said), "--kind", kind, "--json", str(target), *more]
    subprocess.run([sys.executable, *command], check=True, stdout=subprocess.DEVNULL)
    scores: list[Line] = json.loads(target.read_text(encoding="utf-8"))
    return scores


def lines_of(said: Path) -> list[Line]:
    """What estimators said."""
    return [json.loads(line) for line in said.read_text(encoding="utf-8").splitlines()]
