"""Models that people serve and train most are known, under the names they go by."""

from __future__ import annotations

import pytest

from gpusize_catalog.naming import match
from gpusize_catalog.store import Catalog

KNOWN = {
    "01-ai/Yi-1.5-34B-Chat": "01-ai/Yi-34B",
    "BSC-LT/salamandra-7b-instruct": "BSC-LT/salamandra-7b",
    "EleutherAI/pythia-1b-deduped": "EleutherAI/pythia-1b",
    "FacebookAI/roberta-large": "FacebookAI/roberta-large",
    "HuggingFaceH4/zephyr-7b-beta": "mistralai/Mistral-7B-v0.1",
    "HuggingFaceTB/SmolLM-1.7B": "HuggingFaceTB/SmolLM2-1.7B",
    "OpenGVLab/InternVL3-8B": "OpenGVLab/InternVL3-8B",
    "Qwen/Qwen1.5-110B-Chat": "Qwen/Qwen1.5-110B",
    "Qwen/Qwen2-57B-A14B-Instruct": "Qwen/Qwen2-57B-A14B",
    "Qwen/Qwen2-VL-72B-Instruct-AWQ": "Qwen/Qwen2-VL-72B-Instruct",
    "Qwen/Qwen2.5-Coder-7B-Instruct": "Qwen/Qwen2.5-7B",
    "Qwen/Qwen2.5-VL-3B-Instruct": "Qwen/Qwen2.5-VL-3B-Instruct",
    "THUDM/chatglm3-6b": "THUDM/chatglm3-6b",
    "baichuan-inc/Baichuan2-13B-Chat": "baichuan-inc/Baichuan2-13B-Base",
    "bert-large-uncased": "google-bert/bert-large-uncased",
    "bigcode/starcoderbase": "bigcode/starcoder",
    "bigscience/bloomz-3b": "bigscience/bloom-3b",
    "deepseek-ai/deepseek-coder-6.7b-instruct": "deepseek-ai/deepseek-coder-6.7b-base",
    "deepseek-ai/deepseek-math-7b-rl": "deepseek-ai/deepseek-llm-7b-base",
    "facebook/opt-2.7b": "facebook/opt-2.7b",
    "google/codegemma-7b-it": "google/gemma-7b",
    "ibm-granite/granite-3.3-8b-instruct": "ibm-granite/granite-3.1-8b-base",
    "internlm/internlm2_5-7b-chat": "internlm/internlm2-7b",
    "llava-hf/llava-v1.6-mistral-7b-hf": "llava-hf/llava-v1.6-mistral-7b-hf",
    "lmsys/vicuna-13b-v1.5": "meta-llama/Llama-2-13b-hf",
    "meta-llama/Llama-3.2-90B-Vision-Instruct": "meta-llama/Llama-3.2-90B-Vision",
    "microsoft/Phi-3.5-vision-instruct": "microsoft/Phi-3-vision-128k-instruct",
    "mistralai/Codestral-22B-v0.1": "mistralai/Mistral-Small-Instruct-2409",
    "mistralai/Pixtral-12B-2409": "mistralai/Pixtral-12B-2409",
    "moonshotai/Moonlight-16B-A3B-Instruct": "moonshotai/Moonlight-16B-A3B",
    "tiiuae/Falcon3-3B-Instruct": "tiiuae/Falcon3-3B-Base",
    "tiiuae/falcon-11B": "tiiuae/falcon-11B",
}


@pytest.mark.parametrize("name", KNOWN)
def test_common_names_are_known(catalog: Catalog, name: str) -> None:
    found = catalog.find_model(name)
    assert found is not None
    assert found.id == KNOWN[name]


def test_a_copy_keeps_the_format_that_its_name_says(catalog: Catalog) -> None:
    found = catalog.find_model("Qwen/Qwen2.5-VL-72B-Instruct-AWQ")
    assert found is not None
    assert (found.id, found.native_format) == ("Qwen/Qwen2.5-VL-72B-Instruct", "awq")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        # A vision-language model is its language model and a tower: Qwen2.5-7B has 7,615,616,512.
        ("Qwen/Qwen2.5-VL-7B-Instruct", 7_615_616_512),
        # InternLM2-20B with 9 more rows in both tables of 6,144: 19,861,149,696 + 110,592.
        ("OpenGVLab/InternVL2_5-26B", 19_861_260_288),
        # Mistral-7B with 64 more rows in both tables of 4,096: 7,241,732,096 + 524,288.
        ("llava-hf/llava-v1.6-mistral-7b-hf", 7_242_256_384),
    ],
)
def test_the_rest_of_a_tower_is_the_language_model(catalog: Catalog, name: str, text: int) -> None:
    model = catalog.model(name)
    assert model.vision_params is not None
    assert model.total_params - model.vision_params == pytest.approx(text, abs=20_000)


def test_a_tuned_twin_of_a_base_is_found_and_said(catalog: Catalog) -> None:
    """Falcon3-3B-Instruct has the architecture of Falcon3-3B-Base."""
    found = match("tiiuae/Falcon3-3B-Instruct", catalog)
    assert found is not None
    assert found[0].id == "tiiuae/Falcon3-3B-Base"
    assert "twin" in found[1]
    assert match("tiiuae/Falcon3-3B-Unheard", catalog) is None
