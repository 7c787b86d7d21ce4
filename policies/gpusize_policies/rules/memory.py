"""Does the memory hold the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.wording import plan_in_words
from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain, wrapped
from gpusize_policies.message import Remark
from gpusize_policies.rule import Needs, Waivable, rule

if TYPE_CHECKING:
    from gpusize.constraints.reason import Reason
    from gpusize.resolution import Resolution
    from gpusize_policies.case import Case


GIVE_FACTS = "give the architecture inline in `model`, or the missing fact in a catalog overlay"
ELSEWHERE = "another region, a smaller model or a smaller weights format"


@rule(
    "GPU100",
    "no-plan-fits",
    Severity.ERROR,
    since="0.1",
    needs=Needs.WORKLOAD,
    waivable=Waivable.NO,
)
def no_plan_fits(case: Case) -> Iterator[Remark]:
    """Nothing that the region offers holds the workload as it is declared.

    Why: gpusize tried each instance type, layout and market that the catalog lists for the region;
        each was rejected. What the finding names is what comes closest.
    Fix: take one of the changes that the finding names: a smaller weights format, a shorter
        context, another region, or fewer pins.
    Sources: the rejections of `gpusize explain FILE`, which give the reason of every type.
    """
    resolution = case.resolution
    if resolution is None or resolution.plan is not None:
        return
    region = resolution.workload.region
    if case.cheapest is None:
        resolution = case.unpinned or resolution
    types = len({one.instance_type for one in resolution.rejections})
    tried = {"typesTried": types}
    if case.cheapest is None:
        text = f"no plan in {region} works ({types} instance types tried)"
        if resolution.would_fit:
            yield Remark(text, resolution.would_fit, tried)
        else:
            most = _most_common(resolution)
            fix = GIVE_FACTS if most and most.name == "estimate-not-supported" else ELSEWHERE
            yield Remark(f"{text}: {most.text}" if most else text, (fix,), tried)
        return
    if case.is_blamed:
        return
    why = _why_not(resolution)
    text = f"no plan in {region} satisfies the pins{': ' if why else ''}{why}"
    yield Remark(text, (f"without the pins: {plan_in_words(case.cheapest)}",), tried)


def _most_common(resolution: Resolution) -> Reason | None:
    """What speaks against most types, where no change that was tried helps."""
    firsts = [one.reasons[0] for one in resolution.rejections if one.reasons]
    names = [reason.name for reason in firsts]
    worst = max(sorted(set(names)), key=names.count, default="")
    return next((reason for reason in firsts if reason.name == worst), None)


def _why_not(resolution: Resolution) -> str:
    """What speaks against the pinned placement, where no rule of its own says it."""
    from gpusize.constraints.reason import Weight
    from gpusize.resolving.weighing import reasons_of

    if resolution.candidate is not None:
        reasons = reasons_of(resolution.candidate)
    else:
        reasons = tuple(reason for one in resolution.rejections[:1] for reason in one.reasons)
    return next((reason.text for reason in reasons if reason.weight is not Weight.ADVICE), "")


@rule("GPU101", "weights-exceed-vram", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE)
def weights_exceed_vram(case: Case) -> Iterator[Remark]:
    """The weights that one GPU must keep are larger than the memory it may use.

    Why: the engine cannot load the model. vLLM and SGLang stop at start, after minutes of
        download and while the instance is paid for; llama.cpp spills layers to the host.
    Fix: take the cheapest placement that the finding names, a smaller weights format, or more
        GPUs per replica (`tp`).
    Limits: the budget is the memory that CUDA reports, times the engine's memory fraction; weights
        offloaded to the host by `engine.cpuOffloadGib` or `pipeline.offload` are taken off.
    Sources: https://github.com/vllm-project/vllm/issues/2248
    """
    return wrapped(case, "weights-exceed-vram")


@rule("GPU102", "kv-cache-exceeds-vram", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE)
def kv_cache_exceeds_vram(case: Case) -> Iterator[Remark]:
    """One sequence of the declared context does not fit beside the weights.

    Why: vLLM compares the KV cache of one full-context sequence with what is left and refuses to
        start; SGLang starts and fails at the first long request.
    Fix: lower `contextLength` to the number in the finding, set `kvCacheFormat: fp8` where the
        engine supports it, or take the placement that the finding names.
    Limits: silent where GPU101 fires; the weights come first.
    Sources: https://github.com/vllm-project/vllm/issues/2418,
        https://github.com/vllm-project/vllm/issues/16118
    """
    return wrapped(case, "kv-cache-exceeds-vram")


@rule("GPU116", "pipeline-exceeds-vram", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE)
def pipeline_exceeds_vram(case: Case) -> Iterator[Remark]:
    """A stage of an image or video pipeline, or a batch of texts, does not fit beside the weights.

    Why: the weights load, and the run fails minutes later with an out-of-memory error: mostly at
        the last stage, where the VAE decodes the whole picture at once.
    Fix: lower the batch or the resolution to what the finding names, decode in tiles
        (`pipeline.tiling`), let components wait in host memory (`pipeline.offload: model`), or
        take the placement that the finding names.
    Limits: silent where GPU101 fires; the weights come first. Text encoding counts by its weights.
    Sources: https://github.com/huggingface/blog/blob/main/video_gen.md,
        https://github.com/sayakpaul/diffusers-torchao
    """
    return wrapped(case, "pipeline-exceeds-vram")


@rule("GPU117", "offload-exceeds-host", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE)
def offload_exceeds_host(case: Case) -> Iterator[Remark]:
    """What the GPUs of a node offload is larger than the memory of the host.

    Why: each rank offloads its own part, and eight ranks share one host. The process is killed
        while it loads, or at the first step of the optimizer.
    Fix: take the placement that the finding names, more nodes, or offload less.
    Sources: https://www.deepspeed.ai/tutorials/zero-offload/,
        https://huggingface.co/docs/diffusers/optimization/memory
    """
    return wrapped(case, "offload-exceeds-host", "instance_type", "nodes_per_replica")


@rule("GPU103", "concurrency-exceeds-kv", Severity.WARN, since="0.1")
def concurrency_exceeds_kv(case: Case) -> Iterator[Remark]:
    """The KV cache holds fewer sequences at once than `concurrency` says.

    Why: no engine refuses this. Requests queue, running ones are preempted and computed again,
        and latency grows with the load.
    Fix: lower `concurrency` to the number in the finding, add replicas, or take the placement that
        it names.
    Limits: judged on the 95th percentile of prompt plus output tokens; where only `contextLength`
        is declared GPU115 speaks instead.
    Sources: https://github.com/vllm-project/vllm/issues/14992
    """
    return wrapped(case, "concurrency-exceeds-kv")


@rule("GPU104", "no-memory-headroom", Severity.WARN, since="0.1")
def no_memory_headroom(case: Case) -> Iterator[Remark]:
    """It fits, by less than the error of the estimate.

    Why: memory estimates miss by several percent, and an upgrade of the engine moves the overhead
        by as much. What fits today by 200 MiB may not start tomorrow.
    Fix: lower `contextLength` or the memory fraction of a neighbour, or take the placement that the
        finding names.
    Sources: https://github.com/kaito-project/kaito/pull/2302,
        https://github.com/llm-d-incubation/llm-d-planner/issues/194
    """
    return wrapped(case, "no-memory-headroom")


@rule("GPU106", "context-beyond-model-limit", Severity.ERROR, since="0.1")
def context_beyond_model_limit(case: Case) -> Iterator[Remark]:
    """`contextLength` is longer than the positions the model was built for.

    Why: vLLM refuses such a length; where it is forced, answers degrade past the limit.
    Fix: lower `contextLength` to the limit in the finding, or take a long-context variant of the
        model.
    Sources: https://docs.vllm.ai/en/latest/configuration/engine_args/
    """
    return plain(case, "context-beyond-model-limit")


@rule(
    "GPU107",
    "recurrent-state-exceeds-vram",
    Severity.ERROR,
    since="0.1",
    waivable=Waivable.EVIDENCE,
)
def recurrent_state_exceeds_vram(case: Case) -> Iterator[Remark]:
    """The engine may run more sequences at once than there are blocks for their recurrent state.

    Why: layers with recurrent state (Mamba, gated delta networks) keep one block for each running
        sequence. vLLM compares its `max_num_seqs`, 256 or 1024 by default, with the blocks of the
        pool once everything is loaded, and refuses to start.
    Fix: set `engine.maxSequences` to the number in the finding, and start the engine with it.
    Limits: since vLLM 0.20; other engines lower the number by themselves, and without CUDA graphs
        (`engine.eager`) vLLM starts too. No placement is rejected for it, for a setting is the
        cure. Blocks were 617 computed against 630 to 652 logged.
    Sources: https://github.com/vllm-project/vllm/issues/49064,
        https://github.com/vllm-project/vllm/pull/55148,
        https://github.com/vllm-project/recipes/pull/831
    """
    return plain(case, "recurrent-state-exceeds-vram", "a smaller weights format or a larger GPU")


@rule(
    "GPU108", "training-states-exceed-vram", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE
)
def training_states_exceed_vram(case: Case) -> Iterator[Remark]:
    """Weights, gradients and optimizer states of one GPU are larger than its memory.

    Why: AdamW keeps 8 to 18 bytes for each trained parameter. Without shards each GPU keeps all of
        them, and the run stops at the first step of the optimizer.
    Fix: shard over more GPUs (`sharding: fsdp` or `zero-3`), take `optimizer: paged-adamw-8bit`,
        train an adapter (`method: lora`), or take the placement that the finding names.
    Limits: what a trainer keeps for a parameter is a row of the trainers table; states that are
        offloaded are taken off.
    Sources: https://huggingface.co/docs/transformers/model_memory_anatomy,
        https://deepspeed.readthedocs.io/en/latest/memory.html
    """
    return wrapped(case, "training-states-exceed-vram")


@rule(
    "GPU109",
    "training-activations-exceed-vram",
    Severity.ERROR,
    since="0.1",
    waivable=Waivable.EVIDENCE,
)
def training_activations_exceed_vram(case: Case) -> Iterator[Remark]:
    """The states of the optimizer fit, a micro batch beside them does not.

    Why: activations grow with micro batch and sequence, and the logits of a large vocabulary take
        as much as many layers. It is the usual way for a run to stop, often at its longest batch.
    Fix: lower `microBatch` or `sequenceLength` to the number in the finding, set `recompute: full`,
        or take a loss that never holds all logits (`loss: fused`).
    Limits: silent where GPU108 fires; the states come first.
    Sources: https://arxiv.org/abs/2205.05198 (activations and their recomputation)
    """
    return wrapped(case, "training-activations-exceed-vram")


@rule("GPU110", "lora-base-exceeds-vram", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE)
def lora_base_exceeds_vram(case: Case) -> Iterator[Remark]:
    """Frozen weights, adapter and a micro batch are larger than the memory of one GPU.

    Why: an adapter is small, the weights below it are not: 16-bit weights take 2 bytes for each
        parameter, 4-bit weights 0.6, for embeddings and head stay 16-bit.
    Fix: `method: qlora`, a smaller `microBatch` or `recompute: full`, or the placement that the
        finding names.
    Sources: https://arxiv.org/abs/2305.14314 (QLoRA)
    """
    return wrapped(case, "lora-base-exceeds-vram")


@rule("GPU111", "host-memory-too-small", Severity.WARN, since="0.1", parameters=("minHostGib",))
def host_memory_too_small(case: Case) -> Iterator[Remark]:
    """The host has too little memory for what passes through it or waits there.

    Why: weights pass through host memory while they load, and what is offloaded stays in it:
        weights (`engine.cpuOffloadGib`), components of a pipeline, states of an optimizer. A host
        that runs out kills the process, and the GPU's memory is not looked at.
    Fix: take the size of the same GPU with more host memory that the finding names, or offload
        less.
    Limits: loading counts one shard of weights, and a whole copy where one rank of a sharded run
        reads for all; a KV cache in host memory is not declared and not counted. Silent where
        GPU117 fires.
    Sources: https://huggingface.co/docs/accelerate/usage_guides/fsdp,
        https://github.com/hiyouga/LlamaFactory/issues/8726,
        https://github.com/Roblox/FAI-RL/issues/66
    """
    return wrapped(case, "host-memory-too-small", "instance_type", "nodes_per_replica")


@rule(
    "GPU112", "multi-model-oversubscribed", Severity.ERROR, since="0.1", waivable=Waivable.EVIDENCE
)
def multi_model_oversubscribed(case: Case) -> Iterator[Remark]:
    """The neighbors on a GPU and the workload's own process take more than it has.

    Why: memory fractions add up. vLLM takes its share of all memory and refuses to start where less
        is free; other processes run out of memory when the last of them loads.
    Fix: set `engine.memoryFraction` to the number in the finding, or take the placement that it
        names.
    Limits: a fraction that is not declared is taken to be what the neighbors leave, and is told
        among the assumptions: start the engine with it.
    Sources: https://github.com/vllm-project/vllm/issues/20305,
        https://github.com/vllm-project/vllm/issues/14376
    """
    return wrapped(case, "multi-model-oversubscribed", "instance_type", "nodes_per_replica")


@rule("GPU113", "estimate-not-supported", Severity.ADVICE, since="0.1", waivable=Waivable.NO)
def estimate_not_supported(case: Case) -> Iterator[Remark]:
    """The memory of this model or engine cannot be computed, so nothing was checked.

    Why: an answer that is not known must not look like a pass.
    Fix: add the missing fact to a catalog overlay, or give the architecture inline in `model`.
    Sources: `gpusize catalog show MODEL` says what the catalog knows.
    """
    return plain(case, "estimate-not-supported", GIVE_FACTS)


@rule(
    "GPU114",
    "measured-override-stale",
    Severity.ADVICE,
    since="0.1",
    parameters=("maxMeasurementAgeDays",),
)
def measured_override_stale(case: Case) -> Iterator[Remark]:
    """What was measured is of another GPU, engine version or layout, cannot be, or is old.

    Why: a number that was measured once is believed for years. Constants of an engine move with its
        versions, and what one GPU reserves another does not.
    Fix: measure again on what the finding names, or leave the measurement out.
    Limits: where it does not hold the estimate is used, and where it is less than what the weights
        need in any case; one that is only old is used. Versions that share a row of the engines
        table count as one.
    Sources: https://github.com/llm-d-incubation/llm-d-planner/issues/194
    """
    return plain(case, "measured-override-stale")


@rule("GPU115", "context-bound-concurrency", Severity.ADVICE, since="0.1")
def context_bound_concurrency(case: Case) -> Iterator[Remark]:
    """At full context the KV cache holds fewer sequences than `concurrency` says.

    Why: without `promptTokens` and `outputTokens` the declared context is the only length known,
        and it is an upper bound. Real requests are shorter, how much is not declared.
    Fix: declare `promptTokens` and `outputTokens`; GPU103 then judges what really comes.
    Sources: https://github.com/vllm-project/vllm/issues/14992
    """
    return plain(case, "context-bound-concurrency")
