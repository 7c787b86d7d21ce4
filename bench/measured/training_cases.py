"""Turns a measured training row into a declaration, a placement and the truth."""

from __future__ import annotations

import re
from typing import Any, NamedTuple

from bench.measured.cases import model_of, node_of
from bench.measured.diffusion_cases import MODALITIES, diffusion_workload
from bench.measured.frame import Row, Skip
from bench.measured.gpus import gpu_id
from gpusize.architecture import Architecture
from gpusize.placement import Layout, Placement
from gpusize.workload import Market, Optimizing, Training, parse_workload
from gpusize_catalog.facts import Gpu
from gpusize_catalog.store import Catalog

TRAINERS = (
    ("litgpt", "litgpt"),
    ("HF Trainer", "hf"),
    ("ms-swift (megatron)", "megatron"),
    ("ms-swift", "ms-swift"),
    ("axolotl", "axolotl"),
    ("torchtitan", "torchtitan"),
    ("unsloth", "unsloth"),
    ("torchtune", "torchtune"),
    ("TRL", "trl"),
    ("llm-foundry", "llm-foundry"),
    ("Megatron-Bridge", "megatron"),
)
"""By how the row names its framework."""
METHODS = {"pretrain": "full", "full": "full", "lora": "lora", "qlora": "qlora"}
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
ELSEWHERE = frozenset({"embedding-training"})
SIZE = re.compile(r"(tp|pp|ep|cp|sp)=(\d+)")
SPREAD = re.compile(r"(tp|pp|ep)=")
MODE = re.compile(r"(zero[123]|fsdp|ddp(?!/zero))")
OBJECTIVES = (
    (re.compile(r"rlhf/(gkd|ppo|grpo)"), None),
    (re.compile(r"rlhf/kto"), "unpaired"),
    (re.compile(r"rlhf/(simpo|orpo|cpo)"), "contrast"),
    (re.compile(r"/embedding/"), "embedding"),
    (re.compile(r"dpo"), "preference"),
    (re.compile(r"rlhf/rm/"), "reward"),
    (re.compile(r"seq_cls|reranker"), "classification"),
)
"""What a source trains for, by its path; None: what gpusize does not size."""
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


def _trainer_and_method(row: Row) -> tuple[str, str]:
    """What ran, in gpusize's words; raises `Skip` for what it does not size."""
    trainer = next(
        (name for word, name in TRAINERS if (row["framework"] or "").startswith(word)), None
    )
    if row["modality"] in ELSEWHERE:
        raise Skip(f"modality {row['modality']}")
    if trainer == "ms-swift" and SPREAD.search(row["sharding"] or ""):
        trainer = "megatron"
    if trainer is None:
        raise Skip(f"no constants for {row['framework']}")
    method = METHODS.get(row["method"])
    if method is None:
        raise Skip(f"method {row['method']}")
    return trainer, method


def read(row: Row, catalog: Catalog) -> Run:
    """Make a case of a row; raises `Skip` with the reason."""
    if row["modality"] in MODALITIES:
        drawn, pipeline = diffusion_workload(row, catalog)
        return _run(row, drawn, Layout(dp=row["n_gpus"] or 1), pipeline, catalog)
    trainer, method = _trainer_and_method(row)
    architecture = model_of(row, catalog)
    layout = layout_of(row)
    if trainer == "torchtitan" and layout.pp > 1:
        # Its local batch is what the stages work off, one micro batch for each.
        once = max(1, row["micro_batch"] // layout.pp)
        row = Row({**row, "micro_batch": once, "grad_accum": row["micro_batch"] // once})
    workload = _workload(row, trainer, method, architecture, layout)
    return _run(row, workload, layout, architecture, catalog)


def layout_of(row: Row) -> Layout:
    """How a row says its run was spread; all GPUs that it does not name hold copies."""
    sizes = {name: int(number) for name, number in SIZE.findall(row["sharding"] or "")}
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
    method: str,
    architecture: Architecture,
    layout: Layout,
) -> Training:
    pretrains = row["method"] == "pretrain"
    declared: dict[str, Any] = {
        "kind": "pre-training" if pretrains else "fine-tuning",
        "model": architecture.name,
        "region": "us-east-1",
        "trainer": _versioned(trainer, row["source"] or ""),
        "sequenceLength": row["seq_len"],
        "microBatch": row["micro_batch"],
        "attention": "eager" if row["flash_attention"] is False else "flash",
        "optimizer": _optimizer(row["optimizer"] or ""),
    }
    if (row["framework"] or "").startswith(NARROW_GRADIENTS):
        declared["gradientPrecision"] = "bf16"
    if NARROW.match(row["weights_dtype"] or "") and pretrains:
        declared["computePrecision"] = "fp8"
    declared.update(_stated(row, layout))
    if not pretrains:
        declared["method"] = method
        declared["objective"] = _objective(row["source"] or "")
        if method != "full":
            declared["adapter"] = _adapter(row)
            native = architecture.native_format
            wide = "auto" if native in PACKED else "bf16"
            declared["weightsFormat"] = FORMATS.get(row["weights_dtype"], wide)
    if row["weights_dtype"] == "fp32":
        declared["weightsFormat"] = "fp32"
    workload = parse_workload(declared)
    assert isinstance(workload, Training)
    return workload


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
    number = int(found.group(2))
    whole = number if found.group(1) else number * once
    return whole if whole and whole % once == 0 else None


def _objective(source: str) -> str:
    for path, objective in OBJECTIVES:
        if path.search(source):
            if objective is None:
                raise Skip("an objective that is not sized")
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
    targets = "all-linear"
    if "proj" in words and "up" in words and "expert" not in words:
        targets = "dense-linear"
    if words == "q,v" or ("q_proj" in words and "v_proj" in words and "k_proj" not in words):
        targets = "query-value"
    elif "k_proj" in words and "up_proj" not in words:
        targets = "attention"
    return {
        "rank": row["lora_rank"] or 16,
        "targets": targets,
        "trainEmbeddings": "embedding" in words,
    }


def find_gpu(row: Row, catalog: Catalog) -> tuple[Gpu, bool]:
    """The GPU, and whether the row names one; any one where it does not."""
    known = gpu_id(row["gpu"])
    return catalog.gpu(known or "A100-80GB"), known is not None


def _counted(kind: str) -> str:
    if "allocated" in kind:
        return "allocated"
    return "reserved" if "reserved" in kind else "process"
