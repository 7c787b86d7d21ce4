"""Options of vLLM: `vllm serve`, its older servers, its image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusize_policies.launched.flags import Assumed, Flag, Said, Table, Term
from gpusize_policies.launched.formats import COMPUTE, KV_CACHE, QUANTIZATION
from gpusize_policies.launched.values import (
    VLLM_SUFFIXES,
    amount,
    fraction,
    model,
    one_of,
    suffixed,
    unless,
    whole,
)

COUNT = suffixed(VLLM_SUFFIXES)
LONGEST_JSON = 2048
"""Characters of a configuration in JSON."""


def speculation(text: str) -> Mapping[str, object] | None:
    """Read `--speculative-config`, a JSON object (vllm/config/speculative.py)."""
    import json

    try:
        data: Any = json.loads(text[:LONGEST_JSON])
    except (ValueError, RecursionError):
        return None
    if not isinstance(data, dict):
        return None
    return {
        "model": model(data["model"]) if isinstance(data.get("model"), str) else None,
        "tokens": whole(str(data.get("num_speculative_tokens"))),
    }


FLAGS = (
    Flag("model", ("--model",), model),
    Flag("tp", ("--tensor-parallel-size", "-tp"), whole),
    Flag("pp", ("--pipeline-parallel-size", "-pp"), whole),
    Flag("dp", ("--data-parallel-size", "-dp"), whole),
    Flag("_expert", ("--enable-expert-parallel", "-ep"), one_of({"true": True}), switch=True),
    Flag("contextLength", ("--max-model-len",), unless(("auto",), COUNT)),
    Flag("engine.memoryFraction", ("--gpu-memory-utilization",), fraction),
    Flag("engine.maxSequences", ("--max-num-seqs",), COUNT),
    Flag("engine.maxBatchedTokens", ("--max-num-batched-tokens",), COUNT),
    Flag("kvCacheFormat", ("--kv-cache-dtype",), one_of(KV_CACHE)),
    Flag("weightsFormat", ("--quantization", "-q"), one_of(QUANTIZATION)),
    Flag("computePrecision", ("--dtype",), one_of(COMPUTE)),
    Flag("engine.eager", ("--enforce-eager",), one_of({"true": True}), switch=True),
    Flag("engine.cpuOffloadGib", ("--cpu-offload-gb",), amount),
    Flag("_speculation", ("--speculative-config",), speculation),
    Flag(
        "engine.speculative",
        ("--speculative-model", "--speculative-config.model"),
        unless(("[ngram]",), model),
    ),
    Flag(
        "engine.speculativeTokens",
        ("--num-speculative-tokens", "--speculative-config.num-speculative-tokens"),
        whole,
    ),
    Flag("_lora", ("--enable-lora",), one_of({"true": True}), switch=True),
    Flag("_adapters", ("--max-loras",), whole),
)


def finish(found: Said) -> None:
    """Put together expert parallelism, adapters and speculative decoding."""
    _experts(found)
    adapters(found)
    both = found.drop("_speculation")
    if both is not None and isinstance(both.value, Mapping):
        for key, field in (("model", "engine.speculative"), ("tokens", "engine.speculativeTokens")):
            if both.value.get(key) is not None:
                found.terms[field] = Term(field, both.value[key], both.source)
    if "engine.speculative" not in found.terms:
        # n-grams and heads inside the model need no second model.
        found.drop("engine.speculativeTokens")


def _experts(found: Said) -> None:
    """Share experts over all ranks of a replica (vLLM's docs, expert parallel deployment)."""
    shared = found.drop("_expert")
    ranks = [found.value(field) or 1 for field in ("tp", "dp")]
    if shared is not None and all(isinstance(one, int) for one in ranks):
        product = int(str(ranks[0])) * int(str(ranks[1]))
        if product > 1:
            found.terms["ep"] = Term("ep", product, shared.source)


def adapters(found: Said) -> None:
    """Count LoRA adapters: one by default, none where they are not switched on."""
    enabled, most = found.drop("_lora"), found.drop("_adapters")
    if enabled is not None and enabled.value:
        count = most.value if most is not None else 1
        found.terms["engine.loraAdapters"] = Term("engine.loraAdapters", count, enabled.source)


ASSUMED = (
    Assumed("contextLength", None, "the model's own limit: vLLM's default"),
    Assumed("tp", 1, "vLLM's default"),
    Assumed("pp", 1, "vLLM's default"),
    Assumed("dp", 1, "vLLM's default"),
    Assumed("concurrency", 1, "nothing says how many sequences run at once"),
)

TABLE = Table(
    name="vLLM",
    base={"kind": "serving", "engine.name": "vllm"},
    flags=FLAGS,
    assumed=ASSUMED,
    sources="vllm/engine/arg_utils.py (EngineArgs.add_cli_args, human_readable_int) and "
    "vllm/config/ of vLLM v0.7 to v0.13",
    finish=finish,
    positional="model",
)
