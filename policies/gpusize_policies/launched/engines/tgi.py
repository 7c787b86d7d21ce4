"""Options of Text Generation Inference: `text-generation-launcher`, and its environment."""

from __future__ import annotations

from gpusize_policies.launched.flags import Assumed, Flag, Said, Table
from gpusize_policies.launched.formats import COMPUTE, KV_CACHE
from gpusize_policies.launched.values import SILENT, fraction, model, one_of, whole

QUANTIZE = {
    "awq": "awq",
    "gptq": "gptq",
    "marlin": "gptq",
    "bitsandbytes": "int8-bitsandbytes",
    "bitsandbytes-nf4": "nf4",
    "fp8": "fp8",
    "compressed-tensors": SILENT,
}

FLAGS = (
    Flag("model", ("--model-id",), model, env=("MODEL_ID", "HF_MODEL_ID")),
    Flag("tp", ("--num-shard",), whole, env=("NUM_SHARD", "SM_NUM_GPUS")),
    Flag("contextLength", ("--max-total-tokens",), whole, env=("MAX_TOTAL_TOKENS",)),
    Flag(
        "engine.maxBatchedTokens",
        ("--max-batch-prefill-tokens",),
        whole,
        env=("MAX_BATCH_PREFILL_TOKENS",),
    ),
    Flag(
        "engine.memoryFraction",
        ("--cuda-memory-fraction",),
        fraction,
        env=("CUDA_MEMORY_FRACTION",),
    ),
    Flag(
        "weightsFormat",
        ("--quantize",),
        one_of(QUANTIZE),
        env=("QUANTIZE", "HF_MODEL_QUANTIZE"),
    ),
    Flag("computePrecision", ("--dtype",), one_of(COMPUTE), env=("DTYPE",)),
    Flag("kvCacheFormat", ("--kv-cache-dtype",), one_of(KV_CACHE), env=("KV_CACHE_DTYPE",)),
)

FITTING = 4096
"""Tokens of a sequence taken where none are said: the launcher then takes what fits, up to the
model's own limit (launcher/src/main.rs, max_total_tokens; 4096 is its limit of a prefill where it
knows no better)."""


def finish(found: Said) -> None:
    """Leave out a share of all: the launcher plans from the whole memory, by its own margin."""
    if found.value("engine.memoryFraction") == 1:
        found.drop("engine.memoryFraction")


TABLE = Table(
    name="TGI",
    base={"kind": "serving", "engine.name": "tgi"},
    flags=FLAGS,
    assumed=(
        Assumed("contextLength", FITTING, "TGI takes what fits where nothing is said"),
        Assumed("tp", None, "TGI shards over all GPUs that it sees"),
        Assumed("concurrency", 1, "nothing says how many sequences run at once"),
    ),
    sources="launcher/src/main.rs (Args) of text-generation-inference v3; HF_MODEL_ID, SM_NUM_GPUS "
    "and HF_MODEL_QUANTIZE: sagemaker-entrypoint.sh of the same",
    finish=finish,
    context=FITTING,
)
