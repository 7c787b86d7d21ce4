"""Answers of gpusize to the cases of a harness, in the harness' words.

A case is what a row declares, in one shape for all estimators; it is put back into the shape of a
row, so that both comparisons read it the same way.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

from bench.measured import cases, generation, throughput, training, training_cases
from bench.measured.frame import Row, known
from gpusize.declared.inference import Engine
from gpusize.memory.fit import fit
from gpusize.memory.kv_cache import GroupedCache
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.versions import parse_version
from gpusize_catalog.store import Catalog, load
from gpusize_catalog.units import GIB, MIB

Case = dict[str, Any]
Said = dict[str, Any]

ENGINES = {"trtllm": "trt-llm"}
WORDS = {"bnb4": "nf4", "bnb8": "int8-bitsandbytes", "gptq8": "gptq-int8", "w8a8": "int-w8a8"}
"""Formats as cases call them, and the word of rows."""
RATES = {
    "awq": "awq-int4",
    "gptq": "gptq-int4",
    "gptq8": "gptq-int8",
    "nvfp4": "fp4",
    "w8a8": "int8",
}
BITS = 8
"""Of a frozen base that is not of four."""
DECODING = "decode tok/s"
SELECTIVE = "torchtitan"
"""Recomputes a part where others recompute all; a case says no more than that something is."""
COUNTS_REQUESTS = (0, 20)
"""The first vLLM that logs concurrency times context as tokens of the cache. Source: both ways of
vllm/v1/core/kv_cache_utils.py; by logs of runs, 0.19.2 has the older and 0.22.1 the newer one."""
PACKED = re.compile(r"gptq|int4", re.IGNORECASE)
DEEPSPEED = "DeepSpeed"


@functools.cache
def _catalog() -> Catalog:
    return load()


def answer(case: Case) -> Said:
    """What gpusize says of a case; raises `Skip` or `GpuSizeError` where it says nothing."""
    return SUPPORTS[case["kind"]](case, _catalog())


def _serving(case: Case, catalog: Catalog) -> Said:
    row = _row(
        case,
        engine=ENGINES.get(case["engine"], case["engine"]),
        engine_version=case.get("engine_version"),
        weights_dtype_quantization=_format(case["quant"]),
        kv_dtype=case.get("kv_dtype"),
        max_model_len=case["context"],
        max_num_seqs=case.get("max_num_seqs"),
        max_num_batched_tokens=case.get("max_num_batched_tokens"),
        gpu_memory_utilization=case.get("util"),
        gpu_total_gib=case["gpu_mem_mib"] * MIB / GIB if case.get("gpu_mem_mib") else None,
        tensor_parallel=case["tp"],
    )
    read = cases.read(row, catalog)
    found = known(fit(read.workload, read.placement, catalog, read.architecture))
    said = _said(found, found.need or 0, 1)
    if found.sequences is not None:
        said["kv_tokens"] = _counted(found, read.workload.engine, case["context"])
        said["kv_tokens_by"] = "peer"
    if found.kv_pool is not None:
        said["kv_pool_gib_per_gpu"] = max(0, found.kv_pool) / GIB
    return said


def _counted(found: Fit, engine: Engine, context: int) -> int:
    """Tokens of the cache as the engine's log counts them.

    Most logs count what requests of full context hold. Older vLLM counts every layer of a model
    with several kinds of layers as one that keeps all tokens, which says less than fits.
    """
    cache = found.cache
    version = parse_version(engine.version or "")
    is_old = engine.name == "vllm" and version is not None and version.release < COUNTS_REQUESTS
    if is_old and isinstance(cache, GroupedCache):
        tables = sum(group.tables for group in cache.groups)
        blocks = max(0, found.kv_pool or 0) // cache.unit
        return blocks // tables * min(group.block for group in cache.groups)
    return round((found.sequences or 0) * context)


def _inference(case: Case, catalog: Catalog) -> Said:
    if case["quant"].upper().startswith(("Q", "IQ")) or "llama" in case["engine"]:
        return _serving(case, catalog)
    row = _row(
        case,
        dtype=RATES.get(case["quant"], case["quant"]),
        quantization="int8 KV cache" if case["kv_dtype"] == "int8" else None,
        seq_len=case["context"],
        batch=case["concurrency"],
    )
    found = generation.fit_of(row, catalog)
    said = _said(found, generation.peak_of(found, row["batch"]), row["batch"])
    said["fits"] = generation.verdict_of(found, row["batch"]) is not Verdict.DOES_NOT_FIT
    return said


def _training(case: Case, catalog: Catalog) -> Said:
    told = case["training"]
    row = _row(
        case,
        framework=case["engine"],
        method=case["method"],
        weights_dtype=_base(case),
        optimizer=told["optimizer"],
        lora_rank=told["lora_rank"],
        lora_targets=",".join(told["lora_targets"] or ()),
        seq_len=told["seq_len"],
        micro_batch=told["micro_batch"],
        gradient_checkpointing=_recomputed(case),
        flash_attention=told["attn"] != "eager",
        sharding=_sharding(case),
        loss_impl=told["loss_impl"],
        source=case["source"] or "",
        mem_kind=case["mem_kind"],
        n_gpus=told["world_size"],
    )
    read = training_cases.read(row, catalog)
    found = known(fit(read.workload, read.placement, catalog, read.architecture))
    seen = training.seen_bytes(found, read.kind)
    return {**_said(found, seen, 0), "allocated_gib": seen / GIB}


def _decode(case: Case, catalog: Catalog) -> Said:
    row = _row(
        case,
        task="inference-batch1",
        engine=case["engine"],
        dtype=RATES.get(case["quant"], case["quant"]),
        isl=case["isl"],
        osl=case["osl"],
        parallelism=f"TP{case['tp']}",
        measured=Row(unit=DECODING),
    )
    catalog_name = cases.model_of(row, catalog).name
    found = throughput.answers(Row({**row, "model": catalog_name}), catalog)
    return {"tok_s": found.values[throughput.RATE], "bound_tok_s": found.bound, "notes": []}


SUPPORTS: dict[str, Callable[[Case, Catalog], Said]] = {
    "serving": _serving,
    "inference": _inference,
    "training": _training,
    "decode": _decode,
}
"""What answers each kind of case."""


def _row(case: Case, **fields: Any) -> Row:
    return Row(
        {
            "id": case["id"],
            "model": case["raw_model"],
            "base_model": case["model"]["hf_id"],
            "gpu": case.get("gpu_raw"),
            "n_gpus": case["tp"],
            "measured": Row(),
            "sanity": Row(),
            **fields,
        }
    )


def _format(word: str) -> str:
    is_gguf = word.upper().startswith(("Q", "IQ"))
    return f"gguf-{word}" if is_gguf else WORDS.get(word, word)


def _base(case: Case) -> str:
    """How weights are kept: a quantized base in its format, and what is trained as it computes."""
    told = case["training"]
    is_narrow = case["method"] != "full" and told["base_bits"] == BITS
    if case["method"] != "qlora" and not is_narrow:
        computed: str = told["compute_dtype"]
        return computed
    if is_narrow:
        return "int8"
    return "gptq-int4" if PACKED.search(case["raw_model"] or "") else "nf4"


def _recomputed(case: Case) -> bool | str:
    recomputes: bool = case["training"]["grad_checkpointing"]
    return "selective" if recomputes and case["engine"].startswith(SELECTIVE) else recomputes


def _sharding(case: Case) -> str:
    told = case["training"]
    mode: str = told["sharding"]
    keeps_copies = told["amp"] and mode == "none" and DEEPSPEED in case["engine"]
    return DEEPSPEED.lower() if keeps_copies else mode


def _said(found: Fit, total: int, sequences: int) -> Said:
    """The parts of a need; `total` is what the kind of measurement sees of it."""
    weights, cache = found.term(Term.WEIGHTS), 0
    said: Said = {"notes": [], "fits_by": "peer"}
    if found.cache and sequences:
        cache = found.cache.bytes_for(found.context_length, sequences)
        said["kv_gib_per_gpu"] = cache / GIB
        said["kv_bytes_per_token"] = cache / (found.context_length * sequences)
    return {
        **said,
        "weights_gib_per_gpu": weights / GIB,
        "overhead_gib_per_gpu": (total - weights - cache) / GIB,
        "total_gib_per_gpu": total / GIB,
        "fits": found.verdict is not Verdict.DOES_NOT_FIT,
        "verdict": found.verdict.value,
    }
