"""Copies that people serve under names of their own: architecture, and format of the weights."""

from __future__ import annotations

import pytest

from gpusize_catalog.naming import match
from gpusize_catalog.store import Catalog

COPIES: dict[str, tuple[str, str | None]] = {
    "meta-llama/Meta-Llama-3.1-8B-Instruct": ("meta-llama/Llama-3.1-8B", "bf16"),
    "hugging-quants/Meta-Llama-3.1-8B-Instruct-AWQ-INT4": ("meta-llama/Llama-3.1-8B", "awq"),
    "hugging-quants/Meta-Llama-3.1-70B-Instruct-GPTQ-INT4": ("meta-llama/Llama-3.1-70B", "gptq"),
    "neuralmagic/Meta-Llama-3.1-8B-Instruct-FP8": ("meta-llama/Llama-3.1-8B", "fp8"),
    "neuralmagic/Meta-Llama-3.1-70B-Instruct-quantized.w4a16": ("meta-llama/Llama-3.1-70B", "int4"),
    "neuralmagic/Meta-Llama-3.1-8B-Instruct-quantized.w8a8": ("meta-llama/Llama-3.1-8B", "int8"),
    "neuralmagic/Llama-3.2-1B-Instruct-FP8-dynamic": ("meta-llama/Llama-3.2-1B", "fp8"),
    "RedHatAI/Llama-3.3-70B-Instruct-quantized.w4a16": (
        "meta-llama/Llama-3.3-70B-Instruct",
        "int4",
    ),
    "RedHatAI/Qwen3-8B-FP8-dynamic": ("Qwen/Qwen3-8B", "fp8"),
    "RedHatAI/Mistral-Small-3.1-24B-Instruct-2503-FP8-dynamic": (
        "mistralai/Mistral-Small-3.1-24B-Instruct-2503",
        "fp8",
    ),
    "RedHatAI/gemma-3-27b-it-quantized.w4a16": ("google/gemma-3-27b-it", "int4"),
    "nm-testing/Meta-Llama-3-8B-Instruct-FP8": ("meta-llama/Meta-Llama-3-8B", "fp8"),
    "nvidia/Llama-3.1-8B-Instruct-FP8": ("meta-llama/Llama-3.1-8B", "fp8"),
    "nvidia/Llama-3.1-405B-Instruct-FP8": ("meta-llama/Llama-3.1-405B", "fp8"),
    "nvidia/Llama-3.3-70B-Instruct-NVFP4": ("meta-llama/Llama-3.3-70B-Instruct", "nvfp4"),
    "nvidia/DeepSeek-R1-FP4": ("deepseek-ai/DeepSeek-R1", "nvfp4"),
    "nvidia/DeepSeek-V3-0324-FP4": ("deepseek-ai/DeepSeek-V3", "nvfp4"),
    "nvidia/Qwen3-30B-A3B-FP4": ("Qwen/Qwen3-30B-A3B", "nvfp4"),
    "nvidia/Llama-4-Scout-17B-16E-Instruct-FP8": (
        "meta-llama/Llama-4-Scout-17B-16E-Instruct",
        "fp8",
    ),
    "nvidia/Llama-3.1-Nemotron-Nano-8B-v1": ("meta-llama/Llama-3.1-8B", "bf16"),
    "TheBloke/Llama-2-7B-Chat-AWQ": ("meta-llama/Llama-2-7b-hf", "awq"),
    "TheBloke/Llama-2-13B-chat-GPTQ": ("meta-llama/Llama-2-13b-hf", "gptq"),
    "TheBloke/Llama-2-70B-Chat-GGUF": ("meta-llama/Llama-2-70b-hf", None),
    "TheBloke/Mixtral-8x7B-Instruct-v0.1-GPTQ": ("mistralai/Mixtral-8x7B-v0.1", "gptq"),
    "TheBloke/CodeLlama-34B-Instruct-AWQ": ("codellama/CodeLlama-34b-hf", "awq"),
    "TheBloke/deepseek-coder-33B-instruct-AWQ": ("deepseek-ai/deepseek-coder-33b-base", "awq"),
    "TheBloke/Yi-34B-Chat-AWQ": ("01-ai/Yi-34B", "awq"),
    "TheBloke/TinyLlama-1.1B-Chat-v1.0-AWQ": ("TinyLlama/TinyLlama-1.1B-Chat-v1.0", "awq"),
    "TheBloke/zephyr-7B-beta-AWQ": ("mistralai/Mistral-7B-v0.1", "awq"),
    "casperhansen/llama-3-70b-instruct-awq": ("meta-llama/Meta-Llama-3-70B", "awq"),
    "casperhansen/llama-3.3-70b-instruct-awq": ("meta-llama/Llama-3.3-70B-Instruct", "awq"),
    "casperhansen/mixtral-instruct-awq": ("mistralai/Mixtral-8x7B-v0.1", "awq"),
    "casperhansen/deepseek-r1-distill-qwen-32b-awq": (
        "deepseek-ai/DeepSeek-R1-Distill-Qwen-32B",
        "awq",
    ),
    "Qwen/Qwen2.5-72B-Instruct-GPTQ-Int4": ("Qwen/Qwen2.5-72B", "gptq"),
    "Qwen/Qwen2.5-14B-Instruct-GPTQ-Int8": ("Qwen/Qwen2.5-14B", "gptq-int8"),
    "Qwen/Qwen2-VL-7B-Instruct-GPTQ-Int4": ("Qwen/Qwen2-VL-7B-Instruct", "gptq"),
    "Qwen/Qwen3-235B-A22B-Instruct-2507-FP8": ("Qwen/Qwen3-235B-A22B", "fp8"),
    "Qwen/Qwen3-30B-A3B-GPTQ-Int4": ("Qwen/Qwen3-30B-A3B", "gptq"),
    "Qwen/Qwen3-Next-80B-A3B-Instruct-FP8": ("Qwen/Qwen3-Next-80B-A3B-Instruct", "fp8"),
    "Qwen/Qwen3-8B-GGUF": ("Qwen/Qwen3-8B", None),
    "unsloth/Meta-Llama-3.1-8B-Instruct-bnb-4bit": ("meta-llama/Llama-3.1-8B", "nf4"),
    "unsloth/Qwen2.5-7B-Instruct-bnb-4bit": ("Qwen/Qwen2.5-7B", "nf4"),
    "unsloth/Qwen3-14B-unsloth-bnb-4bit": ("Qwen/Qwen3-14B", None),
    "unsloth/mistral-7b-instruct-v0.3-bnb-4bit": ("mistralai/Mistral-7B-v0.3", "nf4"),
    "unsloth/gemma-2-9b-bnb-4bit": ("google/gemma-2-9b", "nf4"),
    "unsloth/gemma-3-27b-it-GGUF": ("google/gemma-3-27b-it", None),
    "unsloth/gpt-oss-20b": ("openai/gpt-oss-20b", "mxfp4"),
    "unsloth/Phi-4-bnb-4bit": ("microsoft/phi-4", "nf4"),
    "unsloth/GLM-4.5-Air-GGUF": ("zai-org/GLM-4.5-Air", None),
    "bartowski/Llama-3.3-70B-Instruct-GGUF": ("meta-llama/Llama-3.3-70B-Instruct", None),
    "lmstudio-community/Meta-Llama-3.1-8B-Instruct-GGUF": ("meta-llama/Llama-3.1-8B", None),
    "MaziyarPanahi/Mixtral-8x22B-Instruct-v0.1-AWQ": ("mistralai/Mixtral-8x22B-v0.1", "awq"),
    "ibnzterrell/Meta-Llama-3.3-70B-Instruct-AWQ-INT4": (
        "meta-llama/Llama-3.3-70B-Instruct",
        "awq",
    ),
    "solidrust/Mistral-7B-Instruct-v0.3-AWQ": ("mistralai/Mistral-7B-v0.3", "awq"),
    "cognitivecomputations/DeepSeek-R1-AWQ": ("deepseek-ai/DeepSeek-R1", "awq"),
    "QuantTrio/Qwen3-235B-A22B-Instruct-2507-AWQ": ("Qwen/Qwen3-235B-A22B", "awq"),
    "cpatonn/Qwen3-30B-A3B-Instruct-2507-AWQ-4bit": ("Qwen/Qwen3-30B-A3B", "awq"),
    "Intel/Qwen3-30B-A3B-Instruct-2507-int4-AutoRound": ("Qwen/Qwen3-30B-A3B", "gptq"),
    "gaunernst/gemma-3-27b-it-int4-awq": ("google/gemma-3-27b-it", "awq"),
    "google/gemma-3-27b-it-qat-q4_0-gguf": ("google/gemma-3-27b-it", "gguf-q4_0"),
    "ISTA-DASLab/gemma-3-27b-it-GPTQ-4b-128g": ("google/gemma-3-27b-it", "gptq"),
    "ModelCloud/Qwen2.5-32B-Instruct-gptqmodel-4bit": ("Qwen/Qwen2.5-32B", "gptq"),
    "jakiAJK/DeepSeek-R1-Distill-Llama-8B_AWQ": ("deepseek-ai/DeepSeek-R1-Distill-Llama-8B", "awq"),
    "zai-org/GLM-4.6-FP8": ("zai-org/GLM-4.5", "fp8"),
    "moonshotai/Kimi-K2-Instruct-0905": ("moonshotai/Kimi-K2-Instruct", "fp8-block"),
    "moonshotai/Kimi-K2-Thinking": ("moonshotai/Kimi-K2-Instruct", "int4-experts"),
}
"""None: the name does not tell the format."""


@pytest.mark.parametrize("name", COPIES)
def test_copies_are_known_with_their_format(catalog: Catalog, name: str) -> None:
    found = catalog.find_model(name)
    assert found is not None
    assert (found.id, found.native_format) == COPIES[name]


def test_who_published_it_again_is_said(catalog: Catalog) -> None:
    found = match("RedHatAI/Qwen3-8B-FP8-dynamic", catalog)
    assert found is not None
    assert found[1].endswith("published again by RedHatAI")


@pytest.mark.parametrize(
    "name",
    [
        "somebody/Qwen3-8B-FP8-dynamic",
        "RedHatAI",
        "RedHatAI/",
        "RedHatAI/Qwen3-8B-pruned",
        "turboderp/Llama-3-70B-Instruct-exl2",
    ],
)
def test_other_owners_and_other_endings_are_not_guessed(catalog: Catalog, name: str) -> None:
    assert catalog.find_model(name) is None


def test_a_last_part_of_two_architectures_is_nobody(catalog: Catalog) -> None:
    assert catalog.model_under_any_owner("no-such-model") is None
    found = catalog.model_under_any_owner("Llama-3.1-8B")
    assert found is not None and found[0].id == "meta-llama/Llama-3.1-8B"
