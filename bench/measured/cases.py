"""Turns a measured serving row into a declaration, a placement and the truth."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from gpusize.architecture import Architecture, architecture_of
from gpusize.placement import Layout, Placement
from gpusize.versions import parse_version
from gpusize.workload import Inference, Market, parse_workload
from gpusize_catalog.facts import Gpu, InstanceType, Interconnect
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB, MIB

NOT_SCORED = "assumed_or_backsolved_do_not_score"
CONTEXT_WHEN_SILENT = 8192
"""Stands in where a row states no context and only its weights are compared."""
DEV_BUILD = re.compile(r"0\.1\.dev")
"""A build from a checkout without tags: says nothing of the version."""

GPUS = (
    (r"h100.?nvl", "H100-NVL"),
    (r"h100", "H100"),
    (r"h200", "H200"),
    (r"a100.*40", "A100-40GB"),
    (r"a100", "A100-80GB"),
    (r"b200", "B200"),
    (r"l40s", "L40S"),
    (r"a10g", "A10G"),
    (r"a10\b|a10-", "A10"),
    (r"rtx ?3090", "RTX3090"),
    (r"rtx ?4090", "RTX4090"),
    (r"rtx ?5090", "RTX5090"),
    (r"a6000", "A6000"),
    (r"a40\b|a40-", "A40"),
    (r"\bt4", "T4"),
    (r"v100.*32", "V100-32GB"),
    (r"\bl4\b", "L4"),
)
OTHER_GPUS: tuple[tuple[str, float, tuple[int, int]], ...] = (
    (r"gb10", 119.63, (12, 1)),
    (r"rtx ?4080", 15.99, (8, 9)),
    (r"a5000", 23.68, (8, 6)),
    (r"l20", 44.4, (8, 9)),
)
"""GPUs that the catalog has no row for: GiB that CUDA reports, and compute capability."""
SAME_TOTAL = 0.015
"""GiB by which a stated total may differ from a GPU's, logs being rounded to 0.01."""
NVLINK_GPUS = frozenset({"H100", "H200", "A100-40GB", "A100-80GB", "B200"})

ENGINES = {"llamacpp": "llama.cpp", "ik_llama.cpp": "llama.cpp"}
FORMATS = {
    "awq-int4": "awq",
    "int4-w4a16": "int4",
    "gptq-int4-w4a16": "int4",
    "int8-w8a8": "int8",
    "compressed-tensors": None,
    "nvfp4-mixed": None,
    "fp32/bf16": None,
    "gguf": None,
}
CACHES = {"fp8_e4m3": "fp8", "fp8_e5m2": "fp8", "f16": "fp16"}
SPECULATION = re.compile(r"speculative decoding on|MTP/EAGLE on|draft-model")


class Skip(Exception):
    """Why a row cannot be predicted."""


class Truth(NamedTuple):
    """What was measured, bytes and counts."""

    weights: int | None
    concurrency: float | None
    tokens: int | None
    cache: int | None
    fits: bool | None
    """Whether it ran and a full-context request can be served."""


class Case(NamedTuple):
    """One row, ready to predict."""

    id: str
    engine: str
    workload: Inference
    placement: Placement
    architecture: Architecture
    truth: Truth
    has_gpu: bool
    has_context: bool
    has_fraction: bool


def read_all(path: Path, catalog: Catalog) -> tuple[list[Case], Counter[str]]:
    """Make cases of all rows of a file, and count why the others were left out."""
    skipped: Counter[str] = Counter()
    rows = path.read_text(encoding="utf-8").splitlines()
    cases = [_read(json.loads(row), catalog, skipped) for row in rows]
    return [case for case in cases if case is not None], skipped


def _read(row: dict[str, Any], catalog: Catalog, skipped: Counter[str]) -> Case | None:
    try:
        return read(row, catalog)
    except Skip as reason:
        skipped[str(reason)] += 1
        return None


def read(row: dict[str, Any], catalog: Catalog) -> Case:
    """Make a case of a row; raises `Skip` with the reason."""
    if row["sanity"].get("arch_facts") == NOT_SCORED:
        raise Skip("the row's own facts are assumed: not scored")
    if row.get("speculative") or SPECULATION.search(row.get("notes") or ""):
        raise Skip("a draft model that is not stated was loaded too")
    architecture = _architecture(row, catalog)
    gpu, known = _gpu(row, catalog)
    try:
        workload = _workload(row, architecture)
    except GpuSizeError as error:
        raise Skip(str(error)) from error
    layout = Layout(
        tp=row["tensor_parallel"] or 1,
        pp=row["pipeline_parallel"] or 1,
        dp=row["data_parallel"] or 1,
    )
    instance = node_of(gpu, row["n_gpus"] or 1, catalog)
    placement = Placement(instance, gpu, 1, layout, "us-east-1", Market.ON_DEMAND)
    return Case(
        row["id"],
        workload.engine.name,
        workload,
        placement,
        architecture,
        _truth(row["measured"]),
        known,
        row["max_model_len"] is not None,
        row["gpu_memory_utilization"] is not None,
    )


def _architecture(row: dict[str, Any], catalog: Catalog) -> Architecture:
    name = row["model"] or ""
    if catalog.find_model(name) is None:
        raise Skip(f"no facts for {name}")
    try:
        return architecture_of(name, catalog)
    except GpuSizeError as error:
        raise Skip(str(error)) from error


def _workload(row: dict[str, Any], architecture: Architecture) -> Inference:
    version = row["engine_version"]
    if version and (DEV_BUILD.match(version) or parse_version(version.replace(".x", "")) is None):
        version = _release(version)
    name = ENGINES.get(row["engine"], row["engine"])
    context = row["max_model_len"] or architecture.max_position or CONTEXT_WHEN_SILENT
    engine = {
        "name": name,
        "version": None if version is None else version.replace(".x", ""),
        "memoryFraction": row["gpu_memory_utilization"],
        "maxBatchedTokens": row["max_num_batched_tokens"],
        "maxSequences": row["max_num_seqs"],
        "eager": bool(row["enforce_eager"]),
    }
    workload = parse_workload(
        {
            "kind": "serving",
            "model": architecture.name,
            "region": "us-east-1",
            "contextLength": context,
            "weightsFormat": _format(row),
            "kvCacheFormat": _cache(row),
            "engine": {key: value for key, value in engine.items() if value is not None},
        }
    )
    assert isinstance(workload, Inference)
    return workload


def _release(version: str) -> str | None:
    """The release that a development build comes before: `0.22.1rc1.dev281` is taken as 0.22.1."""
    if DEV_BUILD.match(version):
        return None
    if version.startswith("<"):
        return f"{version[1:]}.dev0"
    found = re.match(r"\d+\.\d+(\.\d+)?", version)
    return found.group(0) if found else None


def _format(row: dict[str, Any]) -> str:
    word = row["weights_dtype_quantization"]
    if word is None:
        return "auto"
    if FORMATS.get(word, "") is None:
        raise Skip(f"weights format {word}")
    return FORMATS.get(word, word.lower()) or word


def _cache(row: dict[str, Any]) -> str:
    word = row["kv_dtype"] or "auto"
    if word.startswith("auto"):
        return "auto"
    if " " in word:
        raise Skip(f"cache format {word}")
    return CACHES.get(word, word)


def _gpu(row: dict[str, Any], catalog: Catalog) -> tuple[Gpu, bool]:
    """The GPU, and whether the row states it; any one where only weights can be compared."""
    name = (row["gpu"] or "").lower()
    total = row["gpu_total_gib"]
    template = catalog.gpu("H100")
    for pattern, gpu_id in GPUS:
        if re.search(pattern, name):
            gpu = catalog.gpu(gpu_id)
            return (gpu._replace(usable_bytes=round(total * GIB)) if total else gpu), True
    for pattern, gib, capability in OTHER_GPUS:
        if re.search(pattern, name):
            size = round((total or gib) * GIB)
            return template._replace(
                id=name, usable_bytes=size, compute_capability=capability
            ), True
    if total:
        for gpu in catalog.gpus():
            if gpu.usable_bytes and abs(gpu.usable_bytes / GIB - total) < SAME_TOTAL:
                return gpu, True
        return template._replace(
            id=name, usable_bytes=round(total * GIB), compute_capability=None
        ), True
    return template, False


def node_of(gpu: Gpu, count: int, catalog: Catalog) -> InstanceType:
    """A node of so many GPUs, joined as such GPUs usually are."""
    template = catalog.instance("p5.48xlarge")
    link = Interconnect.NVSWITCH if gpu.id in NVLINK_GPUS else Interconnect.PCIE
    return template._replace(gpus=count, gpu_id=gpu.id, partition=1.0, interconnect=link)


def _truth(measured: dict[str, Any]) -> Truth:
    fits = measured.get("fits")
    if measured.get("full_context_fits") is False:
        fits = False
    return Truth(
        _bytes(measured.get("weights_gib_per_gpu")),
        measured.get("max_concurrency"),
        measured.get("kv_tokens"),
        _bytes(measured.get("kv_available_gib_per_gpu")),
        fits,
    )


def _bytes(gib: float | None) -> int | None:
    return None if gib is None else round(gib * 1024 * MIB)
