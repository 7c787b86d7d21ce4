"""An architecture given inline, as a row of the catalog would have it."""

from __future__ import annotations

from gpusize.workload import InlineModel
from gpusize_catalog.facts import ModelFacts

PLAIN_RATIO = 4
"""Width of a plain MLP over the residual stream. Source: the first transformers, still usual."""


def facts_of(model: InlineModel) -> ModelFacts:
    """The catalog row that an inline architecture stands for."""
    head_dim = model.head_dim or model.hidden // model.heads
    sliding = model.sliding_window is not None
    pattern = ""
    if sliding and model.sliding_layers is not None:
        counts = {"sliding": model.sliding_layers, "full": model.layers - model.sliding_layers}
        pattern = "; ".join(f"{kind}:{count}" for kind, count in counts.items() if count)
    intermediate = model.intermediate
    if intermediate is None:
        intermediate = model.moe_intermediate or PLAIN_RATIO * model.hidden
    active = model.active_params
    if active is None and model.experts_total is None:
        active = model.total_params - (model.vision_params or 0)
    return ModelFacts(
        id=model.name,
        family="inline",
        total_params=model.total_params,
        active_params=active,
        layers=model.layers,
        encoder_layers=None,
        hidden=model.hidden,
        intermediate=intermediate,
        heads=model.heads,
        kv_heads=model.kv_heads,
        head_dim=head_dim,
        vocab=model.vocab,
        tie_embeddings=model.tie_embeddings,
        max_position=model.max_position,
        attention_kind="mla" if model.kv_lora_rank else "gqa",
        kv_lora_rank=model.kv_lora_rank,
        qk_rope_head_dim=model.qk_rope_head_dim,
        sliding_window=model.sliding_window,
        layer_pattern=pattern,
        experts_total=model.experts_total,
        experts_active=model.experts_active,
        shared_experts=model.shared_experts,
        moe_intermediate=model.moe_intermediate,
        first_dense_layers=model.first_dense_layers,
        mtp_layers=None,
        native_format=model.native_format,
        modality="vision-language" if model.vision_params else "text",
        vision_params=model.vision_params,
        params_method="declared",
        source="declared",
        notes="",
    )
