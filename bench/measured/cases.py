"""Turns a measured serving row into a declaration, a placement and the truth."""

from __future__ import annotations

import re
from typing import NamedTuple

from bench.measured.frame import Row, Skip, number
from bench.measured.gpus import gpu_id
from bench.measured.stated import held_by_others
from gpusize.architecture import Architecture, architecture_of
from gpusize.memory.formats import find_format
from gpusize.placement import Layout, Placement
from gpusize.versions import parse_version
from gpusize.workload import Inference, Market, parse_workload
from gpusize_catalog.facts import Gpu, InstanceType, Interconnect
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

CONTEXT_WHEN_SILENT = 8192
"""Stands in where a row states no context and only its weights are compared."""
BUILT_FOR = re.compile(r"\bsm_?(\d+)(\d)a\b")
"""A build whose code is for one compute capability alone, such as sm120a (CUDA programming guide,
architecture-specific features)."""
DEV_BUILD = re.compile(r"0\.1\.dev")
"""A build from a checkout without tags: says nothing of the version."""

OTHER_GPUS: tuple[tuple[str, float, tuple[int, int]], ...] = (
    (r"gb10", 119.63, (12, 1)),
    (r"rtx ?4080", 15.99, (8, 9)),
    (r"a5000", 23.68, (8, 6)),
    (r"l20", 44.4, (8, 9)),
)
"""GPUs that the catalog has no row for: GiB that CUDA reports, and compute capability."""
SIZE = re.compile(r"(\d+)\s*gi?b\b")
USABLE = 0.985
"""Of a GPU's nominal memory, what CUDA reports; CONTRIBUTING, "Add a GPU"."""
SAME_TOTAL = 0.015
"""GiB by which a stated total may differ from a GPU's, logs being rounded to 0.01."""
NVLINK_GPUS = frozenset({"H100", "H200", "A100-40GB", "A100-80GB", "B200"})

UNIFIED_GPUS = {"gb10": 8.1}
"""GPUs that share the host's memory, and the GiB of it that the host keeps: a DGX Spark logs 111.5
of 119.6 GiB free before anything is loaded."""

ENGINES = {
    "hf": "transformers",
    "llama-cpp": "llama.cpp",
    "llama_cpp": "llama.cpp",
    "llamacpp": "llama.cpp",
    "tensorrt_llm": "tensorrt-llm",
    "text-generation-inference": "tgi",
    "trt-llm": "tensorrt-llm",
    "trtllm": "tensorrt-llm",
}
OPEN_FORMATS = frozenset({"compressed-tensors", "nvfp4-mixed", "fp32/bf16", "gguf", "unknown"})
"""Words that name a container or a mixture, not a width."""
FORMATS = (
    (r"q2_k_xl", "gguf-q2_k"),
    (r"q3_k_xl|q3_k$", "gguf-q3_k_m"),
    (r"q4_k_xl|q4_k$", "gguf-q4_k_m"),
    (r"q5_k_xl|q5_k$", "gguf-q5_k_m"),
    (r"q6_k_xl", "gguf-q6_k"),
    (r"q8_k_xl", "gguf-q8_0"),
    (r"fp8\W*fp4|fp4\W*fp8", "fp8-fp4-experts"),
    (r"nvfp4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"awq", "awq"),
    (r"gptq.*(w4a16)|int4.*w4a16|w4a16", "int4"),
    (r"gptq.*(int8|8.?bit)", "gptq-int8"),
    (r"gptq|auto.?round.*(int4|w4)|int4.*auto.?round", "gptq"),
    (r"(bnb|bitsandbytes).*(int8|8.?bit)", "int8-bitsandbytes"),
    (r"bnb|bitsandbytes|nf4", "nf4"),
    (r"int-?w4|int4|4.?bit", "int4"),
    (r"int-?w8|w8a8|int8", "int8"),
    (r"fp8|e4m3|e5m2", "fp8"),
)
"""What rows call formats, where the catalog does not know the word: the first that matches."""
INTERLEAVED = re.compile(r"_r(4|8|16)$")
"""How ik_llama.cpp ends the names of types whose rows are interleaved: the same bytes."""
BLOCKS = re.compile(r"i?q\d|tq\d")
"""Names of GGUF types without the name of the file format."""
CACHES = {
    "f16": "fp16",
    "f32": "fp32",
    "float16": "fp16",
    "bfloat16": "bf16",
    "fp8_ds_mla": "fp8",
    "fp8_e4m3": "fp8",
    "fp8_e5m2": "fp8",
}
OWN_DRAFT = re.compile(r"mtp|nextn|eagle", re.IGNORECASE)


class Case(NamedTuple):
    """One row, ready to predict."""

    workload: Inference
    placement: Placement
    architecture: Architecture


def read(row: Row, catalog: Catalog) -> Case:
    """Make a case of a row; raises `Skip` with the reason."""
    if row["speculative"] and _draft(row, catalog) is None:
        raise Skip("a draft model that is not stated was loaded too")
    architecture = model_of(row, catalog)
    gpu, _ = find_gpu(row, catalog)
    workload = _workload(row, architecture, catalog)
    layout = Layout(
        tp=row["tensor_parallel"] or 1,
        pp=row["pipeline_parallel"] or 1,
        dp=row["data_parallel"] or 1,
    )
    instance = node_of(gpu, row["n_gpus"] or 1, catalog)
    placement = Placement(instance, gpu, 1, layout, "us-east-1", Market.ON_DEMAND)
    return Case(workload, placement, architecture)


def model_of(row: Row, catalog: Catalog) -> Architecture:
    """The model's facts; raises `Skip` where the catalog has none."""
    names = (row[field] for field in ("model", "arch", "hf_id", "base_model"))
    found = next((known for name in names if name and (known := _known_name(name, catalog))), "")
    if not found:
        raise Skip(f"no facts for {row['model']}")
    return architecture_of(found, catalog)


def _known_name(name: str, catalog: Catalog) -> str:
    """The name as the catalog knows it: as written, or its last part under another owner."""
    name = name.partition(" (")[0]
    if catalog.find_model(name) is not None:
        return name
    if name.count("/") > 1:
        # A folder of checkpoints: one of its parts is the model's name.
        parts = (part for part in name.split("/") if _known_name(part, catalog))
        return next((_known_name(part, catalog) for part in parts), "")
    last = name.rpartition("/")[2]
    owners = {model.id.partition("/")[0] for model in catalog.models()}
    found = {}
    for owner in sorted(owners):
        model = catalog.find_model(f"{owner}/{last}")
        if model is not None:
            found[model.id] = f"{owner}/{last}"
    return next(iter(found.values())) if len(found) == 1 else ""


def _draft(row: Row, catalog: Catalog) -> str | None:
    """The draft that a row states; None where it says no more than that there is one."""
    word = row["speculative"]
    if not isinstance(word, str):
        return None
    if OWN_DRAFT.search(word):
        return "mtp"
    return _known_name(word, catalog) or None


def _workload(row: Row, architecture: Architecture, catalog: Catalog) -> Inference:
    version = row["engine_version"]
    if version and (DEV_BUILD.match(version) or parse_version(version.replace(".x", "")) is None):
        version = _release(version)
    name = engine_of(row)
    draft = _draft(row, catalog) if row["speculative"] else None
    context = row["max_model_len"] or architecture.max_position or CONTEXT_WHEN_SILENT
    engine = {
        "name": name,
        "version": None if version is None else version.replace(".x", ""),
        "memoryFraction": row["gpu_memory_utilization"],
        "maxBatchedTokens": row["max_num_batched_tokens"],
        "maxSequences": row["max_num_seqs"],
        "eager": bool(row["enforce_eager"]),
        "speculative": draft,
    }
    held = held_by_others(row)
    workload = parse_workload(
        {
            "kind": "serving",
            "model": architecture.name,
            "region": "us-east-1",
            "contextLength": context,
            "weightsFormat": _format(row, catalog),
            "kvCacheFormat": _cache(row),
            "neighbors": [{"name": "others", "memoryGib": held}] if held else [],
            "engine": {key: value for key, value in engine.items() if value is not None},
        }
    )
    assert isinstance(workload, Inference)
    return workload


def engine_of(row: Row) -> str:
    """The engine as the catalog calls it."""
    name = str(row["engine"] or "vllm").lower()
    return ENGINES.get(name, name)


def _release(version: str) -> str | None:
    """The release that a development build comes before: `0.22.1rc1.dev281` is taken as 0.22.1."""
    if DEV_BUILD.match(version):
        return None
    if version.startswith("<"):
        return f"{version[1:]}.dev0"
    found = re.match(r"\d+\.\d+(\.\d+)?", version)
    return found.group(0) if found else None


def _format(row: Row, catalog: Catalog) -> str:
    word = (row["weights_dtype_quantization"] or "auto").lower()
    if word in OPEN_FORMATS:
        raise Skip(f"weights format {word}")
    word = INTERLEAVED.sub("", word)
    if BLOCKS.match(word):
        word = f"gguf-{word}"
    if word == "auto" or find_format(catalog, word) is not None:
        return word
    return format_named(word) or word


def format_named(word: str) -> str | None:
    """The format that a word names, in gpusize's words; None for none."""
    return next((known for pattern, known in FORMATS if re.search(pattern, word)), None)


def _cache(row: Row) -> str:
    word = str(row["kv_dtype"] or "auto").lower()
    if word.startswith("auto"):
        return "auto"
    if " " in word:
        raise Skip(f"cache format {word}")
    return CACHES.get(word, word)


def is_built_for(row: Row, gpu: Gpu) -> bool:
    """Whether the build runs on the GPU: one for an architecture alone runs on no other.

    Where it does not, the GPU that is stated is not the one that was measured.
    """
    built = BUILT_FOR.search(row["engine_version"] or "")
    return built is None or (int(built[1]), int(built[2])) == gpu.compute_capability


def find_gpu(row: Row, catalog: Catalog) -> tuple[Gpu, bool]:
    """The GPU by its name or the size of its memory, and whether the row states one.

    Any one where it does not: weights are the same on all.
    """
    name = (row["gpu"] or "").lower()
    total = number(row["gpu_total_gib"])
    template = catalog.gpu("H100")
    if known := gpu_id(name):
        gpu = catalog.gpu(known)
        return (gpu._replace(usable_bytes=round(total * GIB)) if total else gpu), True
    for pattern, gib, capability in OTHER_GPUS:
        if re.search(pattern, name):
            size = round(((total or gib) - _kept_by_host(pattern, row)) * GIB)
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
    if stated := SIZE.search(name):
        usable = round(int(stated[1]) * USABLE * GIB)
        return template._replace(id=name, usable_bytes=usable, compute_capability=None), True
    return template, False


def _kept_by_host(pattern: str, row: Row) -> float:
    """GiB of a unified memory that an engine which counts what is free does not see."""
    return UNIFIED_GPUS.get(pattern, 0.0) if row["engine"] == "sglang" else 0.0


def node_of(gpu: Gpu, count: int, catalog: Catalog) -> InstanceType:
    """A node of so many GPUs, joined as such GPUs usually are."""
    template = catalog.instance("p5.48xlarge")
    link = Interconnect.NVSWITCH if gpu.id in NVLINK_GPUS else Interconnect.PCIE
    return template._replace(gpus=count, gpu_id=gpu.id, partition=1.0, interconnect=link)
