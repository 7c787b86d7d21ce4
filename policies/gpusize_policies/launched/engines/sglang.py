"""Options of SGLang: `python -m sglang.launch_server`, `sglang serve`."""

from __future__ import annotations

from gpusize_policies.launched.engines.vllm import CHANGED, IN_A_FILE
from gpusize_policies.launched.flags import Assumed, Flag, Said, Table, Term
from gpusize_policies.launched.formats import COMPUTE, KV_CACHE, QUANTIZATION
from gpusize_policies.launched.values import (
    SGLANG_SUFFIXES,
    fraction,
    model,
    never,
    one_of,
    suffixed,
    whole,
)

COUNT = suffixed(SGLANG_SUFFIXES)

FLAGS = (
    Flag("model", ("--model-path", "--model"), model),
    Flag("tp", ("--tp-size", "--tp", "--tensor-parallel-size"), whole),
    Flag("pp", ("--pp-size", "--pp", "--pipeline-parallel-size"), whole),
    Flag("dp", ("--dp-size", "--dp", "--data-parallel-size"), whole),
    Flag("ep", ("--ep-size", "--ep", "--expert-parallel-size"), whole),
    Flag(
        "_attention",
        ("--enable-dp-attention",),
        one_of({"true": True}),
        switch=True,
    ),
    Flag("nodesPerReplica", ("--nnodes",), whole),
    Flag("options", ("--config",), never, note=IN_A_FILE),
    Flag("model", ("--json-model-override-args",), never, note=CHANGED),
    Flag("contextLength", ("--context-length",), COUNT),
    Flag("engine.memoryFraction", ("--mem-fraction-static",), fraction),
    Flag("engine.maxSequences", ("--max-running-requests",), whole),
    Flag("engine.maxBatchedTokens", ("--chunked-prefill-size",), whole),
    Flag("kvCacheFormat", ("--kv-cache-dtype",), one_of(KV_CACHE)),
    Flag("weightsFormat", ("--quantization",), one_of(QUANTIZATION)),
    Flag("computePrecision", ("--dtype",), one_of(COMPUTE)),
    Flag("engine.eager", ("--disable-cuda-graph",), one_of({"true": True}), switch=True),
    Flag("engine.cpuOffloadGib", ("--cpu-offload-gb",), whole),
    Flag("engine.speculative", ("--speculative-draft-model-path",), model),
    Flag("engine.speculativeTokens", ("--speculative-num-draft-tokens",), whole),
    Flag("engine.loraAdapters", ("--max-loras-per-batch",), whole),
)


def finish(found: Said) -> None:
    """Leave out copies of attention alone, and the tokens of drafts without a draft model."""
    if found.drop("_attention") is not None:
        # The ranks of data parallelism then are among those of tp (sglang's docs, DP attention).
        copies = found.drop("dp")
        if copies is not None:
            found.terms["dp"] = Term("dp", 1, "--enable-dp-attention")
    if "engine.speculative" not in found.terms:
        found.drop("engine.speculativeTokens")


TABLE = Table(
    name="SGLang",
    base={"kind": "serving", "engine.name": "sglang"},
    flags=FLAGS,
    assumed=(
        Assumed("contextLength", None, "the model's own limit: SGLang's default"),
        Assumed("tp", 1, "SGLang's default"),
        Assumed("pp", 1, "SGLang's default"),
        Assumed("dp", 1, "SGLang's default"),
        Assumed("concurrency", 1, "nothing says how many sequences run at once"),
    ),
    sources="python/sglang/srt/server_args.py (ServerArgs) of SGLang v0.5; a long option may be "
    "cut short where it stays clear (argparse), as `--tp` is of `--tp-size`",
    finish=finish,
    means={"_attention": "dp"},
)
