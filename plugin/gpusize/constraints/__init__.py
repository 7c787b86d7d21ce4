"""What makes a plan impossible or poor: pure functions that return reasons.

`CONSTRAINTS` is the one table: kebab name to function, the cheap ones first. The resolver rejects
by it, a rule wraps one of its entries into findings. Names without a rule of their own are the
resolver's: they keep it from choosing what nobody asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from gpusize.constraints import (
    billing,
    blocks,
    choice,
    commitments,
    host,
    interconnect,
    measured,
    memory,
    movement,
    neighbors,
    offering,
    parallelism,
    precision,
    purchase,
    speed,
    storage,
    team,
    training,
)
from gpusize.constraints.reason import Reason, Weight

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize.workload import Workload

Constraint = Callable[["Candidate"], Iterator[Reason]]

DECLARATION: dict[str, Constraint] = {
    "context-beyond-model-limit": memory.context_beyond_model_limit,
    "checkpoint-precision-mismatch": precision.checkpoint_precision_mismatch,
    "recurrent-state-exceeds-vram": memory.recurrent_state_exceeds_vram,
    "always-on-for-bursty": billing.always_on_for_bursty,
    "commitment-for-short-run": commitments.commitment_for_short_run,
    "capacity-block-for-serving": blocks.capacity_block_for_serving,
    "odcr-paid-while-idle": purchase.odcr_paid_while_idle,
    "root-volume-too-small": storage.root_volume_too_small,
    "no-checkpoint-storage": storage.no_checkpoint_storage,
    "checkpoints-on-instance-store": storage.checkpoints_on_instance_store,
    "cross-region-weights": movement.cross_region_weights,
    "region-not-allowed": team.region_not_allowed,
    "model-not-allowed": team.model_not_allowed,
    "format-not-allowed": team.format_not_allowed,
}
"""Judge what was declared: the cure is in the declaration, so no placement is rejected for them."""

KEEPING = frozenset(
    {
        "root-volume-too-small",
        "no-checkpoint-storage",
        "checkpoints-on-instance-store",
        "cross-region-weights",
    }
)
"""Of these, what no other model, format or placement cures: it does not keep a change from being
proposed."""

OFFER: dict[str, Constraint] = {
    "type-not-allowed": team.type_not_allowed,
    "nvlink-approval-missing": team.nvlink_approval_missing,
    "unknown-instance-type": offering.unknown_instance_type,
    "retired-instance": offering.retired_instance,
    "instance-not-offered-in-region": offering.instance_not_offered_in_region,
    "availability-unknown": offering.availability_unknown,
    "on-demand-not-sold": offering.on_demand_not_sold,
    "market-not-sold": offering.market_not_sold,
    "architecture-mismatch": offering.architecture_mismatch,
}
"""Depend on the instance type, the region and the market."""

MARKET: dict[str, Constraint] = {
    "market-not-allowed": team.market_not_allowed,
    "spot-for-user-facing": billing.spot_for_user_facing,
    "spot-without-checkpoint": training.spot_without_checkpoint,
    "checkpoint-interval-too-long": training.checkpoint_interval_too_long,
    "long-training-on-spot": purchase.long_training_on_spot,
    "pretraining-without-reservation": purchase.pretraining_without_reservation,
    "capacity-block-invalid-duration": blocks.capacity_block_invalid_duration,
    "on-demand-for-fault-tolerant-batch": billing.on_demand_for_fault_tolerant_batch,
}
"""Judge how the work is bought. A pinned market is a declaration: no type is rejected for it, else
the search would flee to a type whose price is worse or not known."""

DEVICE: dict[str, Constraint] = {
    "cuda-required": precision.cuda_required,
    "compute-capability-below-engine": precision.compute_capability_below_engine,
    "bf16-unsupported": precision.bf16_unsupported,
    "int4-kernel-unsupported": precision.int4_kernel_unsupported,
    "fp4-unsupported": precision.fp4_unsupported,
    "format-refused": precision.format_refused,
    "fp8-kv-unsupported": precision.fp8_kv_unsupported,
    "fp8-compute-unsupported": precision.fp8_compute_unsupported,
    "int8-on-blackwell-ultra": precision.int8_on_blackwell_ultra,
}
"""Depend on the GPU alone: equal for all its numbers and layouts."""

SHAPE: dict[str, Constraint] = {
    "tp-not-dividing-heads": parallelism.tp_not_dividing_heads,
    "stages-exceed-layers": parallelism.stages_exceed_layers,
    "experts-not-divisible": parallelism.experts_not_divisible,
}
"""Depend on the model and the parallel sizes alone: equal on every instance type."""

LAYOUT: dict[str, Constraint] = {
    **SHAPE,
    "tp-across-nodes": parallelism.tp_across_nodes,
    "layout-exceeds-node": parallelism.layout_exceeds_node,
    "estimate-not-supported": memory.estimate_not_supported,
    "weights-exceed-vram": memory.weights_exceed_vram,
    "kv-cache-exceeds-vram": memory.kv_cache_exceeds_vram,
    "training-states-exceed-vram": training.training_states_exceed_vram,
    "training-activations-exceed-vram": training.training_activations_exceed_vram,
    "lora-base-exceeds-vram": training.lora_base_exceeds_vram,
    "pipeline-exceeds-vram": memory.pipeline_exceeds_vram,
    "multi-model-oversubscribed": neighbors.multi_model_oversubscribed,
    "measured-override-stale": measured.measured_override_stale,
    "no-memory-headroom": memory.no_memory_headroom,
    "concurrency-exceeds-kv": memory.concurrency_exceeds_kv,
    "context-bound-concurrency": memory.context_bound_concurrency,
    "interconnect-unknown": interconnect.interconnect_unknown,
    "tp-over-pcie": interconnect.tp_over_pcie,
    "kv-heads-replicated": parallelism.kv_heads_replicated,
    "pipeline-bubbles": parallelism.pipeline_bubbles,
    "non-power-of-two-parallelism": parallelism.non_power_of_two_parallelism,
    "replicas-beat-tp": interconnect.replicas_beat_tp,
    "several-nodes-undeclared": parallelism.several_nodes_undeclared,
    "nvlink-required": training.nvlink_required,
    "bandwidth-bound-decode": speed.bandwidth_bound_decode,
    "slower-than-reading": speed.slower_than_reading,
    "prefill-compute-bound": speed.prefill_compute_bound,
}
"""Depend on the GPUs, what joins them, and the layout: equal for all hosts of the same GPUs."""

SILICON: dict[str, Constraint] = {**DEVICE, **LAYOUT}

MONEY: dict[str, Constraint] = {
    "root-volume-too-slow": storage.root_volume_too_slow,
    "offload-exceeds-host": host.offload_exceeds_host,
    "host-memory-too-small": host.host_memory_too_small,
    "price-unknown": billing.price_unknown,
    "hourly-budget-exceeded": billing.hourly_budget_exceeded,
    "monthly-budget-exceeded": billing.monthly_budget_exceeded,
    "run-budget-exceeded": billing.run_budget_exceeded,
    "gpu-count-ceiling": team.gpu_count_ceiling,
    "deadline-not-met": purchase.deadline_not_met,
    "capacity-block-shorter-than-run": blocks.capacity_block_shorter_than_run,
    "steady-serving-on-demand": commitments.steady_serving_on_demand,
    "no-auto-stop": purchase.no_auto_stop,
    "egress-heavy-output": movement.egress_heavy_output,
    "idle-gpus-on-node": parallelism.idle_gpus_on_node,
    "price-dominated-choice": choice.price_dominated_choice,
    "previous-generation": choice.previous_generation,
    "oversized-gpu-for-work": choice.oversized_gpu_for_work,
    "fractional-gpu-for-latency": choice.fractional_gpu_for_latency,
}
"""Need the price, or the host of the GPUs."""

CONSTRAINTS: dict[str, Constraint] = {**DECLARATION, **OFFER, **MARKET, **SILICON, **MONEY}

REMARKS = frozenset(
    {
        "availability-unknown",
        "context-bound-concurrency",
        "fractional-gpu-for-latency",
        "egress-heavy-output",
        "kv-heads-replicated",
        "measured-override-stale",
        "non-power-of-two-parallelism",
        "no-auto-stop",
        "oversized-gpu-for-work",
        "pipeline-bubbles",
        "prefill-compute-bound",
        "price-unknown",
        "replicas-beat-tp",
        "several-nodes-undeclared",
        "steady-serving-on-demand",
        "root-volume-too-slow",
    }
)
"""Only ever give advice: they speak against no choice, so a search need not ask them."""

COMPARISONS = frozenset(
    {
        "price-dominated-choice",
        "previous-generation",
        "oversized-gpu-for-work",
        "fractional-gpu-for-latency",
    }
)
"""Compare a placement with all others: each is a search of its own, and says nothing of whether a
placement works."""


def of_buying(workload: Workload) -> tuple[dict[str, Constraint], ...]:
    """Return the tables on market and price that may reject a choice, the cheap one first.

    Those on an open market depend on the length of a run, so they are asked of what is sized.
    """
    from gpusize.resolving.markets import declared_market

    return (MONEY,) if declared_market(workload) is not None else (MARKET, MONEY)


__all__ = [
    "COMPARISONS",
    "CONSTRAINTS",
    "DECLARATION",
    "DEVICE",
    "KEEPING",
    "LAYOUT",
    "MARKET",
    "MONEY",
    "OFFER",
    "REMARKS",
    "SHAPE",
    "SILICON",
    "Constraint",
    "Reason",
    "Weight",
    "of_buying",
]
