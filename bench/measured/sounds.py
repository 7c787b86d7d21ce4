"""Rows of `other.jsonl` about sound and texts, as declarations."""

from __future__ import annotations

from typing import Any

from bench.measured.frame import Row, Skip
from gpusize.pipeline import find_pipeline
from gpusize_catalog.store import Catalog

SOUNDS = frozenset({"text-to-speech", "text-to-music", "asr"})
TEXTS = frozenset({"embedding", "rerank"})
CLIP_SECONDS = 10
"""Length of a clip where a row does not say: a sentence of speech."""
MEASURED = frozenset({"measured"})
STATED = frozenset({"stated", "PR statement"})
"""Of authors who had the figure before them, rounded; requirements and reports are left out."""
STALE = "stale"
ENGINES = ("transformers", "faster-whisper")
OFFLOADS = ("none", "model", "sequential")


def check(row: Row, catalog: Catalog) -> None:
    """Raise `Skip` where a row cannot be scored."""
    model = row["model"] or ""
    for is_there, reason in (
        (catalog.find_model(model) or find_pipeline(model, catalog), f"no facts for {model}"),
        (row["evidence"] in MEASURED | STATED, "a requirement or a report, no figure of a run"),
        (STALE not in (row["notes"] or ""), "another model was still held"),
        (row["dtype"], "precision is not stated"),
        (row["task"] not in TEXTS or row["seq_len"], "length of the texts is not stated"),
    ):
        if not is_there:
            raise Skip(reason)


def of_sound(row: Row, catalog: Catalog) -> dict[str, Any]:
    """What a row about speech or music declares."""
    is_pipeline = find_pipeline(row["model"], catalog) is not None
    words = (row["engine"] or ENGINES[0]).split()
    if words[0] not in ENGINES:
        raise Skip(f"engine {row['engine']}")
    declared = {**_common(row), "modality": "audio", "seconds": CLIP_SECONDS}
    if not is_pipeline:
        beams = row["beam"] or 1
        return {**declared, "engine": words[0], "weightsFormat": row["dtype"], "beams": beams}
    if row["offload"] not in OFFLOADS:
        raise Skip(f"offload {row['offload']}")
    held = {"offload": row["offload"]}
    return {**declared, "computePrecision": row["dtype"], "pipeline": held}


def of_texts(row: Row) -> dict[str, Any]:
    """What a row about embedding or ranking declares."""
    return {**_common(row), "modality": "embedding", "contextLength": row["seq_len"]}


def _common(row: Row) -> dict[str, Any]:
    if (row["n_gpus"] or 1) != 1:
        raise Skip("one model over several GPUs")
    return {
        "kind": "batch-inference",
        "model": row["model"],
        "region": "us-east-1",
        "batch": row["batch"] or 1,
    }
