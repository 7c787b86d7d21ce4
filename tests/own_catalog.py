"""An overlay of a team that has everything of its own: each table gets a row that is nowhere else.

The instance type is large and nearly free, so it wins wherever its rows are read.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

DATA = Path(__file__).parents[1] / "catalog" / "gpusize_catalog" / "data"

GPU, INSTANCE, MODEL = "OWN100", "own1.xlarge", "own/Model-8B"
FORMAT, ENGINE = "own4", "ownserve"
REGION = "us-east-1"

DECLARED: dict[str, Any] = {
    "kind": "serving",
    "model": MODEL,
    "weightsFormat": FORMAT,
    "engine": ENGINE,
    "contextLength": 8192,
    "concurrency": 8,
    "region": REGION,
}
"""A workload that can be declared with the overlay alone."""

COPIES: dict[str, tuple[Mapping[str, str], Mapping[str, str]]] = {
    "gpus": ({"id": "L40S"}, {"id": GPU, "ec2_families": "own1"}),
    "instances": (
        {"id": "g6e.xlarge"},
        {"id": INSTANCE, "family": "own1", "gpu_id": GPU, "api_name": GPU},
    ),
    "offerings": ({"instance_type": "g6e.xlarge", "region": REGION}, {"instance_type": INSTANCE}),
    "prices": (
        {"instance_type": "g6e.xlarge", "region": REGION, "price_type": "on-demand"},
        {"instance_type": INSTANCE, "amount": "0.01"},
    ),
    "models": ({"id": "meta-llama/Llama-3.1-8B"}, {"id": MODEL}),
    "formats": ({"id": "fp8"}, {"id": FORMAT, "aliases": "", "linear_bits": "4"}),
    "engines": ({"engine": "vllm", "version_before": ""}, {"engine": ENGINE, "version_from": ""}),
    "kernels": (
        {"format": "fp8", "engine": "vllm", "support": "native"},
        {"format": FORMAT, "engine": ENGINE, "engine_from": "", "engine_before": ""},
    ),
}
"""By table, which shipped row is copied and what is different."""


def write(folder: Path, **rows: str) -> Path:
    """Write the overlay, with further texts by table; returns the folder."""
    folder.mkdir(exist_ok=True)
    for table, (where, changes) in COPIES.items():
        with (DATA / f"{table}.csv").open(encoding="utf-8", newline="") as stream:
            found = csv.DictReader(stream)
            copied = next(row for row in found if where.items() <= row.items())
        with (folder / f"{table}.csv").open("w", encoding="utf-8", newline="") as out:
            writer = csv.DictWriter(out, list(copied))
            writer.writeheader()
            writer.writerow({**copied, **changes})
    for table, text in rows.items():
        (folder / f"{table}.csv").write_text(text, encoding="utf-8")
    return folder
