"""Options of vLLM: `vllm serve`, its older servers, its image."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gpusize_policies.launched.flags import Assumed, Flag, Said, Table, Term
from gpusize_policies.launched.formats import COMPUTE, KV_CACHE, QUANTIZATION
from gpusize_policies.launched.values import (
    SILENT,
    VLLM_SUFFIXES,
    amount,
    fraction,
    model,
    never,
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


BACKENDS = {"ray": True, "mp": SILENT, "uni": SILENT, "external_launcher": SILENT}
"""What ranks run in: those of Ray may lie on machines that this text does not count."""
IN_A_FILE = "that options lie in a file: nothing is inferred"
CHANGED = "that the model is changed: nothing is inferred"

FLAGS = (
    Flag("model", ("--model",), model),
    Flag("tp", ("--tensor-parallel-size", "-tp"), whole),
    Flag("pp", ("--pipeline-parallel-size", "-pp"), whole),
    Flag("dp", ("--data-parallel-size", "-dp"), whole),
    Flag("_expert", ("--enable-expert-parallel", "-ep"), one_of({"true": True}), switch=True),
    Flag("contextLength", ("--max-model-len",), COUNT),
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
    Flag("nodesPerReplica", ("--nnodes", "-n"), whole),
    Flag("_backend", ("--distributed-executor-backend",), one_of(BACKENDS)),
    Flag("options", ("--config",), never, note=IN_A_FILE),
    Flag("model", ("--hf-overrides", "--rope-scaling", "--hf-config-path"), never, note=CHANGED),
    Flag("_lora", ("--enable-lora",), one_of({"true": True}), switch=True),
    Flag("_adapters", ("--max-loras",), whole),
)


def finish(found: Said) -> None:
    """Put together expert parallelism, adapters and speculative decoding."""
    _experts(found)
    adapters(found)
    ray = found.drop("_backend")
    if ray is not None and "nodesPerReplica" not in found.terms:
        found.terms["nodesPerReplica"] = Term("nodesPerReplica", None, ray.source)
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
    means={
        "_backend": "nodesPerReplica",
        "_expert": "ep",
        "_speculation": "engine.speculative",
        "_lora": "engine.loraAdapters",
        "_adapters": "engine.loraAdapters",
    },
)
