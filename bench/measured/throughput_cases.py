"""Turns a measured rate into a declaration, a placement and the truth."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from bench.measured.cases import format_named, node_of
from bench.measured.frame import Row, Skip
from bench.measured.gpus import gpu_id
from gpusize.architecture import Architecture, architecture_of
from gpusize.placement import Layout, Placement
from gpusize.workload import Market, Workload, parse_workload
from gpusize_catalog.facts import Gpu
from gpusize_catalog.store import Catalog

ENGINES = (
    (r"sglang", "sglang"),
    (r"vllm", "vllm"),
    (r"tensorrt", "tensorrt-llm"),
    (r"hf|transformers", "transformers"),
)
TRAINERS = (
    ("llm-foundry", "llm-foundry"),
    ("Megatron", "megatron"),
    ("torchtitan", "torchtitan"),
    ("NeMo", "megatron"),
)
FORMATS = {
    "bf16": "bf16",
    "fp16": "fp16",
    "fp8": "fp8",
    "awq-int4": "awq",
    "gptq-int4": "gptq",
    "awq": "awq",
    "gptq": "gptq",
    "gptq-int8": "gptq-int8",
    "int4": "gptq",
    "int8": "gptq-int8",
    "fp4": "nvfp4",
}
PRECISIONS = (("fp8", "fp8"), ("fp4", "nvfp4"))
"""Products of training that are narrower than 16 bits."""
SIZES = re.compile(r"(tp|pp|ep|cp|dp|fsdp|vp)=(\d+)")
SERVING_SIZES = re.compile(r"(tp|pp|ep)(\d+)")
UNITS = {
    "output tok/s total": "output",
    "decode tok/s": "decode",
    "(prompt+generated) tok/s, batch 1": "both",
    "tok/s (encoded+generated), generating 2048, batch 1": "both",
    "tok/s batch 1": "decode",
    "tok/s/GPU": "training",
}
"""What a rate counts."""


class Rate(NamedTuple):
    """One row, ready to predict."""

    counts: str
    """One of `UNITS`."""
    workload: Workload
    placement: Placement
    architecture: Architecture
    prompt: int
    output: int


def read(row: Row, catalog: Catalog) -> Rate:
    """Make a case of a row; raises `Skip` with the reason."""
    architecture = architecture_of(row["model"], catalog)
    gpu = _gpu(row["gpu"], catalog)
    if row["task"] == "training":
        return _training(row, architecture, gpu, catalog)
    return _generation(row, architecture, gpu, catalog)


def _gpu(name: str, catalog: Catalog) -> Gpu:
    known = gpu_id(name)
    if known is None:
        raise Skip(f"GPU {name}")
    return catalog.gpu(known)


def _generation(row: Row, architecture: Architecture, gpu: Gpu, catalog: Catalog) -> Rate:
    prompt, output = row["isl"], row["osl"]
    engine = next((name for word, name in ENGINES if re.search(word, row["engine"].lower())), None)
    if engine is None:
        raise Skip(f"engine {row['engine']}")
    sizes = {name: int(n) for name, n in SERVING_SIZES.findall((row["parallelism"] or "").lower())}
    count = row["n_gpus"] or 1
    pp = sizes.get("pp", 1)
    layout = Layout(sizes.get("tp", max(1, count // pp)), pp, 1, 1)
    version = re.search(r"\d+(\.\d+)+", row["engine"])
    counts = UNITS[row["measured"]["unit"]]
    workload = parse_workload(
        {
            "kind": "batch-inference",
            "model": architecture.name,
            "region": "us-east-1",
            "contextLength": prompt + output,
            "promptTokens": prompt,
            "outputTokens": output,
            "concurrency": 1,
            **({"kvCacheFormat": "fp8"} if engine == "tensorrt-llm" else {}),
            "weightsFormat": format_of(row["dtype"]),
            "engine": {"name": engine, **({"version": version.group(0)} if version else {})},
        }
    )
    return Rate(
        counts,
        workload,
        _placed(gpu, count, layout, catalog),
        architecture,
        prompt,
        output,
    )


def format_of(word: str) -> str:
    """A format in gpusize's words; raises `Skip` for one that it does not have."""
    found = FORMATS.get(word) or format_named(word)
    if found is None:
        raise Skip(f"weights format {word}")
    return found


def _training(row: Row, architecture: Architecture, gpu: Gpu, catalog: Catalog) -> Rate:
    trainer = next((name for word, name in TRAINERS if row["engine"].startswith(word)), None)
    if trainer is None:
        raise Skip(f"no constants for {row['engine']}")
    sizes = {name: int(number) for name, number in SIZES.findall(row["parallelism"] or "")}
    count = row["n_gpus"] or 1
    tp, pp = sizes.get("tp", 1), sizes.get("pp", 1)
    layout = Layout(tp, pp, max(1, count // (tp * pp)), sizes.get("ep", 1))
    method = row["method"] or "pretrain"
    declared: dict[str, Any] = {
        "kind": "pre-training" if method == "pretrain" else "fine-tuning",
        "model": architecture.name,
        "region": "us-east-1",
        "trainer": trainer,
        "sequenceLength": row["seq_len"],
        "microBatch": row["batch"],
        "recompute": "full" if row["activation_checkpointing"] else "none",
    }
    precision = next((word for part, word in PRECISIONS if part in row["dtype"]), None)
    if precision:
        declared["computePrecision"] = precision
    if method != "pretrain":
        declared["method"] = "lora" if method == "lora" else "full"
    if row["global_batch"]:
        declared["globalBatch"] = row["global_batch"]
    if layout.dp > 1:
        declared["sharding"] = "zero-1" if trainer == "megatron" else "fsdp"
    return Rate(
        "training",
        parse_workload(declared),
        _placed(gpu, count, layout, catalog),
        architecture,
        0,
        0,
    )


def _placed(gpu: Gpu, count: int, layout: Layout, catalog: Catalog) -> Placement:
    """Nodes of eight GPUs; racks whose GPUs NVLink joins are one node."""
    within = count if gpu.id in RACKS else min(count, NODE)
    nodes = -(-count // within)
    node = node_of(gpu, within, catalog)
    if gpu.nvlink_bandwidth:
        node = node._replace(interconnect_bandwidth=gpu.nvlink_bandwidth)
    else:
        node = node._replace(interconnect_bandwidth=None)
    return Placement(node, gpu, nodes, layout, "us-east-1", Market.ON_DEMAND)


NODE = 8
"""GPUs of an ordinary node."""
RACKS = frozenset({"GB200", "GB300"})
