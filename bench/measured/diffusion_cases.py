"""Turns a measured row of a run that trained a pipeline into a declaration."""

from __future__ import annotations

import re
from typing import Any

from bench.measured.frame import Row, Skip
from gpusize.architecture import Architecture, architecture_of
from gpusize.pipeline import find_pipeline
from gpusize.workload import DiffusionTraining, parse_workload
from gpusize_catalog.store import Catalog

MODALITIES = {"image-diffusion": "image", "video-diffusion": "video"}
"""What rows call it, and its word here."""
TRAINERS = {
    "diffusers": "diffusers",
    "finetrainers": "finetrainers",
    "sd-scripts": "kohya",
    "musubi-tuner": "musubi-tuner",
    "SimpleTuner": "simpletuner",
    "SAT": "sat",
}
CACHING = frozenset({"finetrainers", "musubi-tuner", "simpletuner"})
"""Trainers that encode everything before the training unless they are told otherwise."""
RECOMPUTING = frozenset({"sat"})
"""Those that compute activations again: `checkpoint_activations`, zai-org/CogVideo sat/configs."""
METHODS = frozenset({"full", "lora", "qlora", "dora"})
FORMATS = {"bf16": "bf16", "fp16": "fp16", "fp8": "fp8", "int8": "int8", "nf4": "nf4"}
SIZE = re.compile(r"(?:(\d+)x)?(\d+)x(\d+)$")
"""Frames, then sides, as rows write them."""
SWAPPED = re.compile(r"swap(\d+)")
MODES = {"zero1": "zero-1", "zero2": "zero-2", "zero3": "zero-3", "fsdp": "fsdp", "ddp": "ddp"}
MODE = re.compile("|".join(MODES))
SQUARE = re.compile(r"\d+$")
"""A side alone, of pictures that are as high as wide."""


def diffusion_workload(row: Row, catalog: Catalog) -> tuple[DiffusionTraining, Architecture]:
    """Make a declaration of a row; raises `Skip` with the reason."""
    modality = MODALITIES[row["modality"]]
    sharding = row["sharding"] or ""
    pipeline = find_pipeline(row["model"], catalog)
    trainer = TRAINERS.get(row["framework"])
    size = size_of(row)
    for is_there, reason in (
        (pipeline, f"no facts for {row['model']}"),
        (trainer, f"no constants for {row['framework']}"),
        (size, "resolution is not stated"),
        (row["method"] in METHODS, f"method {row['method']}"),
        (row["micro_batch"], "no micro batch stated"),
        ("offload" not in sharding, "what is offloaded is not stated"),
    ):
        if not is_there:
            raise Skip(reason)
    assert pipeline is not None
    assert trainer is not None
    assert size is not None
    declared: dict[str, Any] = {
        "kind": "fine-tuning",
        "modality": modality,
        "model": pipeline.name,
        "region": "us-east-1",
        "trainer": trainer,
        "method": row["method"],
        "width": int(size[3 if size[1] else 2]),
        "height": int(size[2 if size[1] else 3]),
        "microBatch": row["micro_batch"],
        "recompute": "full" if _recomputes(row, trainer) else "none",
        "cachedLatents": _cached(row["cached_latents"], trainer),
        "cachedTextEmbeddings": _cached(row["cached_text_embeddings"], trainer),
        "optimizer": "adamw-8bit" if "8bit" in (row["optimizer"] or "") else "adamw",
    }
    if row["method"] != "full":
        declared["weightsFormat"] = FORMATS.get(row["weights_dtype"], "auto")
        declared["adapter"] = {"rank": row["lora_rank"] or 16}
    if mode := MODE.search(sharding):
        declared["sharding"] = {"mode": MODES[mode[0]]}
    if swapped := SWAPPED.search(sharding):
        declared["swappedBlocks"] = int(swapped[1])
    if size[1]:
        declared["frames"] = int(size[1])
    workload = parse_workload(declared)
    assert isinstance(workload, DiffusionTraining)
    return workload, architecture_of(pipeline.name, catalog)


def size_of(row: Row) -> re.Match[str] | None:
    """Frames and sides that a row states; None where it states none."""
    stated = str(row["resolution"] or "")
    return SIZE.match(f"{stated}x{stated}" if SQUARE.match(stated) else stated)


def _recomputes(row: Row, trainer: str) -> bool:
    """Whether activations are computed again: as stated, else as the trainer does."""
    stated = row["gradient_checkpointing"]
    return trainer in RECOMPUTING if stated is None else bool(stated)


def _cached(stated: bool | None, trainer: str) -> bool:
    """Whether something is encoded before the training: as stated, else as the trainer does."""
    return trainer in CACHING if stated is None else stated
