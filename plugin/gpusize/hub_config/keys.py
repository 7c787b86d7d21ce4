"""What config.json calls things, and what its families leave unsaid.

Families are told by `model_type`, never by a model's name. What a class of models has by default
is not written into its config.json, so it stands here. Source: the configuration classes of
transformers 4.57 and 5.24, and of the families that ship their own.
"""

from __future__ import annotations

HIDDEN = ("hidden_size", "n_embd", "d_model", "dim", "model_dim")
LAYERS = ("num_hidden_layers", "n_layer", "n_layers", "num_layers", "decoder_layers")
DECODER_LAYERS = ("decoder_layers", "num_decoder_layers")
ENCODER_LAYERS = ("encoder_layers", "num_encoder_layers")
HEADS = ("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads")
KV_HEADS = ("num_key_value_heads", "num_kv_heads", "n_head_kv", "multi_query_group_num")
HEAD_DIM = ("head_dim", "attention_head_dim", "d_kv", "kv_channels")
VALUE_DIM = ("v_head_dim",)
INTERMEDIATE = (
    "dense_intermediate_size",
    "intermediate_size_mlp",
    "intermediate_size",
    "ffn_hidden_size",
    "n_inner",
    "ffn_dim",
    "d_ff",
    "decoder_ffn_dim",
)
VOCAB = ("vocab_size", "padded_vocab_size", "n_vocab")
MAX_POSITION = (
    "max_position_embeddings",
    "n_positions",
    "max_sequence_length",
    "seq_length",
    "max_seq_len",
    "max_target_positions",
)
TIED = ("tie_word_embeddings",)

EXPERTS = (
    "n_routed_experts",
    "num_experts",
    "num_local_experts",
    "moe_num_experts",
    "num_routed_experts",
)
EXPERTS_ACTIVE = (
    "num_experts_per_tok",
    "num_experts_per_token",
    "experts_per_token",
    "top_k_experts",
    "moe_topk",
    "moe_k",
    "moe_top_k",
)
EXPERT_WIDTH = ("moe_intermediate_size", "expert_intermediate_size")
SHARED = ("n_shared_experts", "num_shared_experts", "moe_num_shared_experts")
SHARED_WIDTH = (
    "moe_shared_expert_intermediate_size",
    "shared_expert_intermediate_size",
    "share_expert_dim",
    "shared_intermediate_size",
)
FIRST_DENSE = ("first_k_dense_replace", "moe_layer_start_index")
LAYER_LISTS = ("layer_types", "layers_block_type", "hybrid_override_pattern")
DRAFT_LAYERS = ("num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_modules")

NESTED = ("text_config", "llm_config", "language_config", "thinker_config", "decoder")
"""Where a model of several parts keeps its language model."""

COMPRESSED = {0: "sliding", 4: "csa", 128: "hca"}
"""Kinds of DeepSeek-V4 by tokens of one entry (compress_ratios)."""
LAYER_KINDS = {
    "full_attention": "full",
    "attention": "full",
    "global": "full",
    "*": "full",
    "sliding_attention": "sliding",
    "local": "sliding",
    "chunked_attention": "chunked",
    "linear_attention": "linear",
    "kda": "linear",
    "mamba": "mamba",
    "mamba2": "mamba",
    "M": "mamba",
    "hybrid": "hybrid",
    "moe": "moe",
    "E": "moe",
    "mlp": "mlp",
    "-": "mlp",
    "cross_attention": "cross",
    "indexed_attention": "indexed",
    "compressed_sparse_attention": "csa",
    "heavily_compressed_attention": "hca",
}
"""What layer lists call the kinds of `AttentionGroup`."""

PLAIN_MLP = frozenset(
    {
        "apertus", "arcee", "bert", "bloom", "camembert", "distilbert", "falcon", "gpt2",
        "gpt_bigcode", "gpt_neo", "gpt_neox", "gptj", "mpnet", "mpt", "nemotron", "nemotron_h",
        "opt", "phi", "roberta", "starcoder2", "whisper", "xlm-roberta",
    }
)  # fmt: skip
"""Families whose MLP has two matrices; the others have a gate as the third."""
TIED_BY_DEFAULT = frozenset(
    {
        "bert", "bloom", "camembert", "cohere", "cohere2", "distilbert", "falcon", "gemma",
        "gemma2", "gemma3", "gemma3_text", "gemma3n", "gemma3n_text", "gemma4", "gemma4_text",
        "gpt2", "gpt_bigcode", "gpt_neo", "mpnet", "mpt", "opt", "roberta", "smollm3",
        "starcoder2", "t5", "whisper", "xlm-roberta",
    }
)  # fmt: skip
"""Families whose head is the embedding table unless the file says otherwise."""
LEARNED_POSITIONS = frozenset(
    {"bert", "camembert", "gpt2", "gpt_bigcode", "gpt_neo", "mpnet", "mpt", "opt", "roberta",
     "whisper", "xlm-roberta"}
)  # fmt: skip
"""Families with a table of positions."""
ENCODERS = frozenset(
    {"bert", "camembert", "distilbert", "modernbert", "mpnet", "nomic_bert", "roberta",
     "xlm-roberta"}
)  # fmt: skip
"""Families without a decoder: they keep no cache."""
QUERY_BIAS = frozenset(
    {"bert", "bloom", "camembert", "chatglm", "gpt2", "gpt_bigcode", "gpt_neox", "opt", "phi",
     "qwen", "qwen2", "qwen2_moe", "qwen2_vl", "qwen2_5_vl", "roberta", "starcoder2", "whisper",
     "xlm-roberta"}
)  # fmt: skip
"""Families whose projections of queries, keys and values have biases."""
BIASED = frozenset(
    {"bert", "bloom", "camembert", "gpt2", "gpt_bigcode", "gpt_neo", "gpt_neox", "mpnet", "opt",
     "phi", "roberta", "starcoder2", "whisper", "xlm-roberta"}
)  # fmt: skip
"""Families whose norms and MLPs have biases."""
EVERY_OTHER_SLIDING = {"gemma2": 2, "gemma3": 6, "gemma3_text": 6, "cohere2": 4}
"""Families whose every n-th layer is full and the others sliding, where no list says so."""
ALL_SLIDING = frozenset({"mistral", "mixtral", "phi3", "phi3small", "starcoder2"})
"""Families where a window is in force on every layer."""
BUILT = frozenset(
    {
        *PLAIN_MLP, *TIED_BY_DEFAULT, *QUERY_BIAS, *ALL_SLIDING, "baichuan", "chatglm",
        "deepseek_v2", "deepseek_v3", "deepseek_v32", "ernie4_5", "ernie4_5_moe", "exaone",
        "exaone4", "glm", "glm4", "glm4_moe", "glm_moe_dsa", "gpt_oss", "granite", "granitemoe",
        "internlm2", "internlm3", "jamba", "kimi_k2", "kimi_linear", "llama", "llama4",
        "llama4_text", "mimo", "mimo_v2_flash", "minicpm", "minimax_m2", "minimax_m3", "mistral3",
        "mixtral", "modernbert", "nemotron-nas", "nomic_bert", "olmo", "olmo2", "olmo3", "olmoe",
        "phimoe", "phi4", "qwen3", "qwen3_moe", "qwen3_next", "qwen3_vl_text",
        "qwen3_vl_moe_text", "qwen3_5_text", "qwen3_5_moe_text", "seed_oss", "stablelm", "step3p7",
    }
)  # fmt: skip
"""Families whose arithmetic was held against a published total or its own class."""
