"""Rows of `other.jsonl` about sound and texts, as declarations."""

from __future__ import annotations

from typing import Any

from bench.measured.cases import Skip
from gpusize.pipeline import find_pipeline
from gpusize_catalog.store import Catalog

SOUNDS = frozenset({"text-to-speech", "text-to-music", "asr"})
TEXTS = frozenset({"embedding", "rerank"})
CLIP_SECONDS = 10
"""Length of a clip where a row does not say: a sentence of speech."""
PROCESS = "process"
"""Stands in what a row says of its figure where the whole process was measured."""
MEASURED = frozenset({"measured"})
STATED = frozenset({"stated", "PR statement"})
"""Of authors who had the figure before them, rounded; requirements and reports are left out."""
STALE = "stale"
ENGINES = ("transformers", "faster-whisper")
OFFLOADS = ("none", "model", "sequential")


def of_sound(row: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """What a row about speech or music declares."""
    model = row["model"]
    is_pipeline = find_pipeline(model, catalog) is not None
    if not is_pipeline and catalog.find_model(model) is None:
        raise Skip(f"no facts for {model}")
    _check(row)
    words = row.get("engine", ENGINES[0]).split()
    if words[0] not in ENGINES:
        raise Skip(f"engine {row['engine']}")
    declared = {**_common(row), "modality": "audio", "seconds": CLIP_SECONDS}
    if not is_pipeline:
        beams = row.get("beam") or 1
        return {**declared, "engine": words[0], "weightsFormat": row["dtype"], "beams": beams}
    if row["offload"] not in OFFLOADS:
        raise Skip(f"offload {row['offload']}")
    held = {"offload": row["offload"]}
    return {**declared, "computePrecision": row["dtype"], "pipeline": held}


def of_texts(row: dict[str, Any], catalog: Catalog) -> dict[str, Any]:
    """What a row about embedding or ranking declares."""
    if catalog.find_model(row["model"]) is None:
        raise Skip(f"no facts for {row['model']}")
    _check(row)
    if not row.get("seq_len"):
        raise Skip("length of the texts is not stated")
    length = row["seq_len"]
    return {**_common(row), "modality": "embedding", "contextLength": length}


def is_process(row: dict[str, Any]) -> bool:
    """Whether the figure is of the whole process, its CUDA context among it."""
    return PROCESS in (row["mem_kind"] or "")


def _check(row: dict[str, Any]) -> None:
    if row["n_gpus"] != 1:
        raise Skip("one model over several GPUs")
    if not (row["measured"] or {}).get("peak_gib") or row["evidence"] not in MEASURED | STATED:
        raise Skip("a requirement or a report, no figure of a run")
    if STALE in (row["notes"] or ""):
        raise Skip("another model was still held")


def _common(row: dict[str, Any]) -> dict[str, Any]:
    return {
        "kind": "batch-inference",
        "model": row["model"],
        "region": "us-east-1",
        "batch": row["batch"] or 1,
    }
