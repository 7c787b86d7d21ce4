"""Turns a measured training row into a declaration, a placement and the truth."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from bench.measured.cases import model_of, node_of
from bench.measured.diffusion_cases import MODALITIES, diffusion_workload
from bench.measured.frame import Row, Skip, number
from bench.measured.gpus import gpu_id
from gpusize.architecture import Architecture
from gpusize.placement import Layout, Placement
from gpusize.workload import Market, Optimizing, Training, parse_workload
from gpusize_catalog.facts import Gpu
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIGA

TRAINERS = (
    (r"litgpt|lit-gpt|lit-llama|lightning", "litgpt"),
    (r"ms-swift \(megatron\)|megatron|nemo\b", "megatron"),
    (r"swift", "ms-swift"),
    (r"axolotl", "axolotl"),
    (r"torchtitan", "torchtitan"),
    (r"unsloth", "unsloth"),
    (r"torchtune", "torchtune"),
    (r"trl\b", "trl"),
    (r"llm-foundry|composer", "llm-foundry"),
)
"""What a row names as its framework, in lower case, and the trainer: the first that is found."""
PLAIN = "hf"
"""The trainer of frameworks that have no row of their own: most drive transformers' own."""
DRIVEN = re.compile(r"zero[123]|deepspeed")
"""Sharding that Megatron does not have: the run went through transformers."""
LOW_RANK = re.compile(r"lora|oft|bone|miss|lokr|loha|vera|fourierft|waveft|shira|gralora|c3a")
PREFIX = re.compile(r"adapter|adapt?ion_?prompt|prefix|prompt|(p|ln)_?tuning|tokens")
METHODS = (
    (re.compile(r"dora$"), "dora", "low-rank"),
    (re.compile(r"qlora|lora\+4bit"), "qlora", "low-rank"),
    (LOW_RANK, "lora", "low-rank"),
    (re.compile(r"adapter_v2|ia3|road"), "lora", "scales"),
    (PREFIX, "lora", "prefix"),
    (re.compile(r"pretrain|full"), "full", ""),
)
"""Methods by what rows call them, and the form of their adapters: the first that is found."""
SMALL = 0.02
"""Part of the model that is trained at most where a method without a row here is an adapter."""
PACKED_METHOD = "+4bit"
OPTIMIZERS = (("paged", "paged-adamw-8bit"), ("8bit", "adamw-8bit"), ("8b", "adamw-8bit"))
FORMATS = {
    "nf4": "nf4",
    "nf4-dq": "nf4-double-quant",
    "gptq-int4": "gptq",
    "int8": "int8-bitsandbytes",
    "nvfp4": "nvfp4",
    "nf4/int4": "nf4",
}
PACKED = frozenset({"awq", "gptq", "int4"})
"""Formats of checkpoints whose names say it; the row states what is computed in."""
LOSSES = {"cut-cross-entropy": "fused", "liger": "fused"}
MODES = {"zero1": "zero-1", "zero2": "zero-2", "zero3": "zero-3", "fsdp": "fsdp", "ddp": "ddp"}
CAPPING = frozenset({"torchtune", "torchtitan"})
"""Trainers whose length is a cap where samples are not packed: their datasets have short ones."""
ROUTED = re.compile(r"(?<!shared_)expert")
"""Routed experts among the targets of an adapter."""
ON_MLP = re.compile(r"(?<![a-z])(up|gate|down|mlp|all|fc\d|experts?)(?![a-z])|linear(?!_)")
ON_KEYS = re.compile(r"(?<![a-z])([ko](_proj)?|qkv|linear_qkv|attn|attention)(?![a-z])")
ON_QUERY = re.compile(r"(?<![a-z_])[qv](_proj)?(?![a-z0-9])")
"""Words that targets of adapters have where they reach MLPs, keys and outputs, or queries."""
COMPUTED = re.compile(r"(?<![a-z])(fp8|nvfp4)")
"""What notes say that products are computed in; those of mxfp8 keep wide inputs in torchao."""
ELSEWHERE = frozenset({"embedding-training"})
SIZE = re.compile(r"(tp|pp|ep|cp|sp)=(\d+)")
SPREAD = re.compile(r"(tp|pp|ep)=")
MODE = re.compile(r"(zero[123]|fsdp|ddp(?!/zero))")
OBJECTIVES = (
    (re.compile(r"grpo"), "policy"),
    (re.compile(r"ppo\b"), "actor-critic"),
    (re.compile(r"gkd"), "distillation"),
    (re.compile(r"rlhf/kto"), "unpaired"),
    (re.compile(r"rlhf/(simpo|orpo|cpo)"), "contrast"),
    (re.compile(r"/embedding/"), "embedding"),
    (re.compile(r"dpo"), "preference"),
    (re.compile(r"rlhf/rm/"), "reward"),
    (re.compile(r"seq_cls|reranker"), "classification"),
)
"""What a source trains for, by its path."""
PAIRED = frozenset({"preference", "contrast", "reward"})
"""Objectives whose samples are two sequences: packing counts both (`PackingDataset` of
swift/dataset/utils.py, modelscope/ms-swift)."""
REPORT = re.compile(r"(20\d{4})")
LOSS_CHANGED = "202604"
NARROW = re.compile(r"fp8|mxfp8|nvfp4")
"""Formats that products are computed in, where the row of a run names no other."""
NARROW_GRADIENTS = "Megatron-Bridge"
"""Framework whose published runs keep 16-bit gradients: `grad_reduce_in_fp32 = False` in the
common settings of scripts/performance/configs, NVIDIA-NeMo/Megatron-Bridge."""
STEPS = re.compile(r"(gbs=)?(\d+)")


class Run(NamedTuple):
    """One row, ready to predict."""

    workload: Optimizing
    placement: Placement
    architecture: Architecture
    kind: str
    """allocated, reserved or process: what the peak counts."""


def _trainer_and_method(row: Row) -> tuple[str, str, str]:
    """What ran, in gpusize's words; raises `Skip` for what it does not size."""
    if row["modality"] in ELSEWHERE:
        raise Skip(f"modality {row['modality']}")
    framework, sharding = (row["framework"] or "").lower(), row["sharding"] or ""
    trainer = next((name for word, name in TRAINERS if re.search(word, framework)), PLAIN)
    if trainer in ("ms-swift", PLAIN) and SPREAD.search(sharding):
        trainer = "megatron"
    if trainer == "megatron" and DRIVEN.search(sharding):
        trainer = "ms-swift" if "swift" in framework else PLAIN
    return trainer, *_method(row)


def _method(row: Row) -> tuple[str, str]:
    """The method, and the form of its adapter; raises `Skip` for what is not sized."""
    word = row["method"]
    for pattern, method, form in METHODS:
        if pattern.search(word.lower()):
            packed = method == "lora" and word.endswith(PACKED_METHOD)
            return "qlora" if packed else method, form
    trained = number(row["trainable_params"])
    if trained is None:
        is_small = bool(row["lora_rank"] or row["lora_targets"])
    else:
        is_small = trained < SMALL * (number(row["params_b"]) or 0.0) * GIGA
    if is_small:
        return "lora", "low-rank"
    raise Skip(f"method {word}")


def read(row: Row, catalog: Catalog) -> Run:
    """Make a case of a row; raises `Skip` with the reason."""
    if row["modality"] in MODALITIES:
        drawn, pipeline = diffusion_workload(row, catalog)
        return _run(row, drawn, Layout(dp=row["n_gpus"] or 1), pipeline, catalog)
    trainer, method, form = _trainer_and_method(row)
    architecture = model_of(row, catalog)
    layout = layout_of(row)
    if trainer == "torchtitan" and layout.pp > 1:
        # Its local batch is what the stages work off, one micro batch for each.
        once = max(1, row["micro_batch"] // layout.pp)
        row = Row({**row, "micro_batch": once, "grad_accum": row["micro_batch"] // once})
    workload = _workload(row, trainer, (method, form), architecture, layout)
    return _run(row, workload, layout, architecture, catalog)


def layout_of(row: Row) -> Layout:
    """How a row says its run was spread; all GPUs that it does not name hold copies."""
    sizes = {name: int(size) for name, size in SIZE.findall(row["sharding"] or "")}
    tp, pp = sizes.get("tp", 1), sizes.get("pp", 1)
    cp = max(sizes.get("cp", 1), sizes.get("sp", 1))
    count = row["n_gpus"] or 1
    return Layout(tp, pp, max(1, count // (tp * pp * cp)), sizes.get("ep", 1), cp)


def is_capped(row: Row) -> bool:
    """Whether the length that is stated is a limit that sequences do not reach."""
    return row["packed"] is False and row["framework"] in CAPPING


def _run(
    row: Row,
    workload: Optimizing,
    layout: Layout,
    architecture: Architecture,
    catalog: Catalog,
) -> Run:
    gpu, _ = find_gpu(row, catalog)
    instance = node_of(gpu, row["n_gpus"] or 1, catalog)
    placement = Placement(instance, gpu, 1, layout, "us-east-1", Market.ON_DEMAND)
    return Run(workload, placement, architecture, _counted(row["mem_kind"] or ""))


def _workload(
    row: Row,
    trainer: str,
    made: tuple[str, str],
    architecture: Architecture,
    layout: Layout,
) -> Training:
    method, form = made
    pretrains = row["method"] == "pretrain"
    declared: dict[str, Any] = {
        "kind": "pre-training" if pretrains else "fine-tuning",
        "model": architecture.name,
        "region": "us-east-1",
        "trainer": _versioned(trainer, row["source"] or ""),
        "sequenceLength": _length(row),
        "microBatch": row["micro_batch"],
        "attention": "eager" if row["flash_attention"] is False else "flash",
        "optimizer": _optimizer(row["optimizer"] or ""),
    }
    if (row["framework"] or "").startswith(NARROW_GRADIENTS):
        declared["gradientPrecision"] = "bf16"
    if pretrains and (narrow := _narrow(row)):
        declared["computePrecision"] = narrow
    declared.update(_stated(row, layout))
    if not pretrains:
        declared["method"] = method
        declared["objective"] = _objective(row["source"] or "")
        if method != "full":
            declared["adapter"] = {**_adapter(row), "form": form}
            native = architecture.native_format
            wide = "auto" if native in PACKED else "bf16"
            declared["weightsFormat"] = FORMATS.get(row["weights_dtype"], wide)
    if row["weights_dtype"] == "fp32":
        declared["weightsFormat"] = "fp32"
    workload = parse_workload(declared)
    assert isinstance(workload, Training)
    return workload


def _length(row: Row) -> int:
    """Tokens of one sequence; packed pairs share the length that a row states."""
    stated: int = row["seq_len"]
    is_pair = _objective(row["source"] or "") in PAIRED
    return max(1, stated // 2) if is_pair and row["packed"] else stated


def _narrow(row: Row) -> str | None:
    """The narrow format that products are computed in; None for a wide one."""
    if NARROW.match(row["weights_dtype"] or ""):
        return "fp8"
    found = COMPUTED.search(row["notes"] or "")
    return found[1] if found else None


def _stated(row: Row, layout: Layout) -> dict[str, Any]:
    """What a row says of how it runs; the trainer decides the rest."""
    found = {
        "recompute": _recompute(row["gradient_checkpointing"]),
        "globalBatch": _global_batch(str(row["grad_accum"] or ""), row["micro_batch"] * layout.dp),
        "offloadActivations": row["activation_offload"],
        "loss": LOSSES.get(row["loss_impl"] or ""),
        "sharding": _sharding(row["sharding"] or "") or None,
    }
    return {key: value for key, value in found.items() if value is not None}


def _sharding(words: str) -> dict[str, str]:
    found = MODE.search(words)
    sharding = {"mode": MODES[found.group(1)]} if found else {}
    if "deepspeed" in words:
        sharding = {"mode": "zero-2"}
    elif "distributed-optimizer" in words and not found:
        sharding = {"mode": "zero-1"}
    if "offload" in words:
        sharding["offload"] = "all"
    return sharding


def _versioned(trainer: str, source: str) -> str:
    """The trainer; reports of torchtitan are dated, and its loss has changed since."""
    dated = REPORT.search(source) if trainer == "torchtitan" else None
    return f"{trainer}@0.2" if dated and dated.group(1) < LOSS_CHANGED else trainer


def _global_batch(word: str, once: int) -> int | None:
    """Samples of a step: stated, or so many micro batches of all ranks."""
    found = STEPS.fullmatch(word)
    if found is None:
        return None
    stated = int(found.group(2))
    whole = stated if found.group(1) else stated * once
    return whole if whole and whole % once == 0 else None


def _objective(source: str) -> str:
    for path, objective in OBJECTIVES:
        if path.search(source):
            return objective
    return "language"


def _recompute(word: Any) -> str | None:
    """The mode that a row states; None leaves it to the trainer."""
    if word is True or word == "full":
        return "full"
    if word is False:
        return "none"
    if isinstance(word, str) and word.startswith("selective"):
        return "selective"
    return None


def _optimizer(word: str) -> str:
    folded = word.lower()
    if "muon" in folded:
        return "muon"
    return next((name for part, name in OPTIMIZERS if part in folded), "adamw")


def _adapter(row: Row) -> dict[str, Any]:
    words = row["lora_targets"] or "all"
    return {
        "rank": row["lora_rank"] or 16,
        "targets": _targets(words),
        "trainEmbeddings": "embedding" in words,
    }


def _targets(words: str) -> str:
    """Which projections have an adapter, by the names of their modules."""
    if ON_MLP.search(words):
        names_each = "proj" in words and not ROUTED.search(words)
        return "dense-linear" if names_each else "all-linear"
    if ON_KEYS.search(words):
        return "attention"
    return "query-value" if ON_QUERY.search(words) else "all-linear"


def find_gpu(row: Row, catalog: Catalog) -> tuple[Gpu, bool]:
    """The GPU, and whether the row names one; any one where it does not."""
    known = gpu_id(row["gpu"])
    return catalog.gpu(known or "A100-80GB"), known is not None


def _counted(kind: str) -> str:
    if "allocated" in kind:
        return "allocated"
    return "reserved" if "reserved" in kind else "process"
