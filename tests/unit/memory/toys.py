"""Models that can be counted by hand: four layers of 256, as dense, mixture and latent."""

from __future__ import annotations

from gpusize.architecture import Architecture, AttentionGroup

HIDDEN, VOCAB, LINEAR, OTHER = 256, 100, 4_000_000, 9_000
TABLE = VOCAB * HIDDEN
ROTARY = 1000 * 32 * 2
"""Two bytes for each of 32 numbers of a head, at every position."""

DENSE = Architecture(
    name="toy",
    total_params=2 * TABLE + LINEAR + OTHER,
    active_params=None,
    layers=4,
    hidden=HIDDEN,
    intermediate=512,
    heads=8,
    kv_heads=2,
    head_dim=32,
    vocab=VOCAB,
    tie_embeddings=False,
    max_position=1000,
    native_format="bf16",
    attention=(AttentionGroup("full", 4, None, 2, 32),),
    embedding_params=TABLE,
    head_params=TABLE,
    expert_params=0,
    linear_params=LINEAR,
    other_params=OTHER,
)
TIED = DENSE._replace(tie_embeddings=True, head_params=0)
EXPERTS = 6_291_456
MOE = DENSE._replace(
    expert_params=EXPERTS, experts_total=8, experts_active=2, moe_intermediate=96, intermediate=None
)
LATENT = DENSE._replace(
    attention=(AttentionGroup("mla", 4),),
    kv_lora_rank=48,
    qk_rope_head_dim=16,
    q_lora_rank=64,
    latent_params=1_000_000,
)
