"""What is said of SageMaker's large model inference containers (DJL Serving): an environment."""

from __future__ import annotations

from gpusize_policies.launched.engines.vllm import COUNT, adapters
from gpusize_policies.launched.flags import Assumed, Flag, Said, Table, Term
from gpusize_policies.launched.formats import COMPUTE, KV_CACHE, QUANTIZATION
from gpusize_policies.launched.values import amount, fraction, is_true, model, one_of, whole

ALL = "max"
"""All GPUs of the machine."""

BACKENDS = {
    "auto": "vllm",
    "vllm": "vllm",
    "disable": "vllm",
    "lmi-dist": "vllm",
    "trtllm": "tensorrt-llm",
}
"""Rolling batches by the engine below them: LMI-Dist was vLLM with a wrapper (serving/docs/lmi/
announcements/breaking_changes.md)."""


def ranks(text: str) -> object:
    """Read a number of ranks, or all GPUs."""
    return ALL if text.lower() == ALL else whole(text)


FLAGS = (
    Flag("model", (), model, env=("OPTION_MODEL_ID", "HF_MODEL_ID")),
    Flag("engine.name", (), one_of(BACKENDS), env=("OPTION_ROLLING_BATCH",)),
    Flag(
        "tp",
        (),
        ranks,
        env=("OPTION_TENSOR_PARALLEL_DEGREE", "TENSOR_PARALLEL_DEGREE", "SM_NUM_GPUS"),
    ),
    Flag("contextLength", (), COUNT, env=("OPTION_MAX_MODEL_LEN",)),
    Flag(
        "engine.maxSequences",
        (),
        whole,
        env=("OPTION_MAX_ROLLING_BATCH_SIZE", "OPTION_MAX_NUM_SEQS", "MAX_BATCH_SIZE"),
    ),
    Flag(
        "engine.maxBatchedTokens",
        (),
        COUNT,
        env=(
            "OPTION_MAX_ROLLING_BATCH_PREFILL_TOKENS",
            "OPTION_MAX_NUM_BATCHED_TOKENS",
            "MAX_BATCH_PREFILL_TOKENS",
        ),
    ),
    Flag(
        "engine.memoryFraction",
        (),
        fraction,
        env=("OPTION_GPU_MEMORY_UTILIZATION", "CUDA_MEMORY_FRACTION"),
    ),
    Flag(
        "weightsFormat",
        (),
        one_of(QUANTIZATION),
        env=("OPTION_QUANTIZE", "OPTION_QUANTIZATION", "HF_MODEL_QUANTIZE"),
    ),
    Flag("computePrecision", (), one_of(COMPUTE), env=("OPTION_DTYPE",)),
    Flag("kvCacheFormat", (), one_of(KV_CACHE), env=("OPTION_KV_CACHE_DTYPE",)),
    Flag("engine.eager", (), is_true, env=("OPTION_ENFORCE_EAGER",)),
    Flag(
        "engine.cpuOffloadGib",
        (),
        amount,
        env=("OPTION_CPU_OFFLOAD_GB_PER_GPU", "OPTION_CPU_OFFLOAD_GB"),
    ),
    Flag("_lora", (), is_true, env=("OPTION_ENABLE_LORA",)),
    Flag("_adapters", (), whole, env=("OPTION_MAX_LORAS",)),
)

ADAPTERS = 4
"""LoRA adapters that are held where nothing says how many (vllm_rb_properties.py, max_loras)."""


def finish(found: Said) -> None:
    """Count adapters, and leave the ranks open where all GPUs are meant."""
    if found.value("_lora") and "_adapters" not in found.terms:
        found.terms["_adapters"] = Term("_adapters", ADAPTERS, "OPTION_ENABLE_LORA")
    adapters(found)
    if found.value("tp") == ALL:
        found.terms["tp"] = Term("tp", None, found.terms["tp"].source)


TABLE = Table(
    name="SageMaker LMI",
    base={"kind": "serving", "engine.name": "vllm"},
    flags=FLAGS,
    assumed=(
        Assumed("contextLength", None, "the model's own limit: vLLM's default"),
        Assumed("tp", 1, "the default of the LMI container"),
        Assumed("concurrency", 1, "nothing says how many sequences run at once"),
    ),
    sources="serving/docs/lmi/deployment_guide/configurations.md, serving/docker/"
    "dockerd-entrypoint-with-cuda-compat.sh and engines/python/setup/djl_python/"
    "properties_manager/ of djl-serving v0.36",
    finish=finish,
    means={"_lora": "engine.loraAdapters", "_adapters": "engine.loraAdapters"},
)
