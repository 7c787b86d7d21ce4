"""Rows of `serving.jsonl`: weights, capacity and verdicts of engines.

A row counts where estimators of serving are scored on it: one engine whose weights and cache have a
stated format, on one stage. Tokens of the cache count where the row states the GPU and the share of
its memory, a verdict where it states the GPU and the context.
"""

from __future__ import annotations

import re

from bench.measured.cases import engine_of, find_gpu, is_built_for, model_of, read
from bench.measured.frame import Answer, Asked, Held, Row, Skip, Subject, flag, known, number
from bench.measured.stated import missing
from gpusize.memory.fit import fit
from gpusize.memory.result import Term, Verdict
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

PAGED = re.compile(r"vllm|sglang|tensorrt|trt|tgi|lmdeploy")
"""Engines that log a pool and refuse to start; the others log buffers."""
NO_WIDTH = frozenset({"unknown", "nvfp4-mixed", "fp32/bf16", "gguf"})
ODD_WIDTH = re.compile(r"int-w[235-7]a")
ODD_CACHE = re.compile(r"turboquant|iq4|q4_0|fp32")
WEIGHTS, TOKENS, CACHE = "weights", "tokens", "cache"
CONTRADICTED = "the build has code for another GPU than the one that is stated"
ROUNDED = 0.005
"""Half of the last digit that engines print of a concurrency."""


def asks(row: Row, catalog: Catalog) -> Asked:
    """What a row states that was measured; raises `Skip` where it cannot be scored."""
    model_of(row, catalog)
    _check(row)
    measured = row["measured"]
    _, has_gpu = find_gpu(row, catalog)
    context = number(row["max_model_len"])
    if not PAGED.search(_engine(row)):
        cache = number(measured["kv_available_gib_per_gpu"])
        held = [Held(CACHE, cache, ("serving.cache",))] if cache and context else []
        return Asked(tuple(held))
    # Others are not scored on rows with a draft model: those that name theirs stand apart.
    group = "serving.drafted" if row["speculative"] else "serving"
    held = []
    if weights := number(measured["weights_gib_per_gpu"]):
        held.append(Held(WEIGHTS, weights, (f"{group}.weights",)))
    if has_gpu and row["gpu_memory_utilization"] is not None and (tokens := _tokens(row)):
        held.append(Held(TOKENS, tokens, (f"{group}.kv",)))
    is_judged = has_gpu and context and not row["speculative"]
    ran = _ran(row) if is_judged else None
    return Asked(tuple(held), ran, missing(row, engine_of(row), catalog))


def answers(row: Row, catalog: Catalog) -> Answer:
    """What gpusize says of a row."""
    case = read(row, catalog)
    found = known(fit(case.workload, case.placement, catalog, case.architecture))
    context = case.workload.context_length
    values = {WEIGHTS: found.term(Term.WEIGHTS) / GIB}
    if not is_built_for(row, case.placement.gpu):
        # Which of the two is wrong is not known, and with it how much memory there was.
        return Answer(values, Verdict.UNKNOWN, (CONTRADICTED,))
    if found.sequences is not None:
        values[TOKENS] = found.sequences * context
    if found.cache:
        values[CACHE] = found.cache.bytes_for(context) / GIB
    return Answer(values, found.verdict, found.reasons)


def _check(row: Row) -> None:
    word = str(row["weights_dtype_quantization"] or "").lower()
    cache = str(row["kv_dtype"] or "").lower()
    stages = row["pipeline_parallel"] or 1
    for is_odd, reason in (
        (row["flag"], f"doubted by who collected it: {row['flag']}"),
        (row["speculative"] is True, "a draft model that is not stated was loaded too"),
        (word in NO_WIDTH or ODD_WIDTH.match(word), f"weights format {word}"),
        (ODD_CACHE.search(cache), f"cache format {cache}"),
        (stages > 1, "several pipeline stages"),
    ):
        if is_odd:
            raise Skip(reason)


def _engine(row: Row) -> str:
    return str(row["engine"] or "vllm").lower()


def _tokens(row: Row) -> float | None:
    """Tokens of full-context requests that the cache holds.

    Engines count the tokens of models with several kinds of layers in ways that changed between
    releases, so the concurrency beside them decides where the two are more than rounding apart.
    """
    tokens = number(row["measured"]["kv_tokens"])
    concurrency = number(row["measured"]["max_concurrency"])
    context = number(row["max_model_len"])
    if not tokens or not concurrency or not context:
        return tokens
    apart = abs(tokens / context - concurrency)
    return tokens if apart <= 2 * ROUNDED else concurrency * context


def _ran(row: Row) -> bool | None:
    """Whether it ran and a request of full context can be served."""
    measured = row["measured"]
    ran = flag(measured["fits"])
    if measured["full_context_fits"] is False:
        return False
    if ran is not None:
        return ran
    if measured["oom"]:
        return False
    pool = number(measured["kv_tokens"]) or number(measured["kv_available_gib_per_gpu"])
    return True if pool else None


SUBJECT = Subject("serving.jsonl", "serving", asks, answers)
