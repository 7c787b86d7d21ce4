"""Texts with the terms that are read of them: `cases/*.yml`, and what holds of any text."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from gpusize_catalog.store import load
from gpusize_policies.launched import Launch, infer, infer_all
from gpusize_policies.launched.engines import TABLES, vllm
from gpusize_policies.launched.texts import launches_in, unpacked
from gpusize_policies.launched.words import commands

CASES = {
    f"{file.stem}: {case['name']}": case
    for file in sorted((Path(__file__).parent / "cases").glob("*.yml"))
    for case in yaml.safe_load(file.read_text(encoding="utf-8"))
}
CANARY = "CANARY-7f3e"


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_text_says_its_terms(case: dict[str, Any]) -> None:
    found = infer_all(launches_in(case["text"]))
    if case.get("none"):
        assert found == ()
        return
    (inferred,) = found
    assert {term.field: term.value for term in inferred.terms} == case["terms"]
    assert sorted(field for field, _ in inferred.unread) == case.get("unread", [])
    assert inferred.engine == case.get("engine", inferred.engine)
    if "assumed" in case:
        assert [str(one) for one in inferred.assumed] == case["assumed"]


def test_every_table_has_cases_and_sources() -> None:
    engines = {case["engine"] for case in CASES.values() if "engine" in case}
    assert {table.name for table in TABLES} == engines
    assert all(table.sources for table in TABLES)


def test_formats_and_engines_are_words_of_a_declaration() -> None:
    from gpusize.declaring.vocabulary import ENGINES, KV_CACHE_FORMATS, WEIGHTS_FORMATS, words_of
    from gpusize_policies.launched import formats
    from gpusize_policies.launched.engines import llama_cpp, lmi, tgi

    catalog = load()
    said = {one for words in (formats.QUANTIZATION, tgi.QUANTIZE) for one in words.values()}
    assert {one for one in said if isinstance(one, str)} <= set(words_of(WEIGHTS_FORMATS, catalog))
    caches = {one for words in (formats.KV_CACHE, llama_cpp.CACHE) for one in words.values()}
    caches.discard("fp32")
    assert {one for one in caches if isinstance(one, str)} <= set(
        words_of(KV_CACHE_FORMATS, catalog)
    )
    engines = {str(table.base["engine.name"]) for table in TABLES if "engine.name" in table.base}
    assert engines | set(lmi.BACKENDS.values()) <= set(words_of(ENGINES, catalog))


OPTIONS = (
    ("--tensor-parallel-size", "2"),
    ("--max-model-len", "8k"),
    ("--gpu-memory-utilization=0.8",),
    ("--enforce-eager",),
    ("--quantization", "fp8"),
    ("--api-key", "key"),
    ("--enable-lora",),
    ("--max-loras", "2"),
    ("--model", "Qwen/Qwen3-8B"),
)


@given(st.permutations(OPTIONS))
def test_the_order_of_options_changes_nothing(options: list[tuple[str, ...]]) -> None:
    def said(one: Any) -> Any:
        words = ("vllm", "serve", *itertools.chain.from_iterable(one))
        return infer(Launch(words))

    assert said(options) == said(OPTIONS)


texts = st.one_of(
    st.text(max_size=60),
    st.text("vllm serve-\"'$(){}[]`\\;&|<>#\n=:\t MODELx0", max_size=120).map("vllm ".__add__),
    st.binary(max_size=60).map(lambda data: data.decode("latin-1")),
)


@settings(max_examples=300)
@given(texts, st.sampled_from(["", "#!/bin/sh\n", "#cloud-config\nruncmd:\n- ", "docker run "]))
def test_no_text_raises(text: str, head: str) -> None:
    for whole in (head + text, head + "vllm serve " + text):
        infer_all(launches_in(whole))
        unpacked(whole)
        commands(whole, {"MODEL": "x"})


KNOWN = sorted({name for table in TABLES for flag in table.flags for name in flag.names})
shells = st.sampled_from(
    [
        "vllm serve Qwen/Qwen3-8B {0}",
        "export TOKEN={1}\nvllm serve Qwen/Qwen3-8B {0}",
        "docker run -e TOKEN={1} --name {1} vllm/vllm-openai:{1} --model Qwen/Qwen3-8B {0}",
        "docker run ghcr.io/huggingface/text-generation-inference:3.3.0 --model-id x/y {0}",
        "python -m sglang.launch_server --model-path Qwen/Qwen3-8B {0} # {1}",
        "llama-server -hf Qwen/Qwen2.5-7B-Instruct-GGUF {0}",
        "torchrun sft.py --model_name_or_path Qwen/Qwen3-8B {0}",
        "OLLAMA_CONTEXT_LENGTH={1} OLLAMA_HOST={1} ollama run llama3.1:8b {0}",
        "curl -H 'Authorization: {1}' x; echo {1} | sh; vllm serve Qwen/Qwen3-8B {0} > {1}",
        "cat <<EOF\n{1}\nEOF\nvllm serve Qwen/Qwen3-8B --api-key {1} {0}",
    ]
)
MODELS = frozenset(
    name
    for table in TABLES
    for flag in table.flags
    if flag.field in ("model", "engine.speculative", "_file", "_repository")
    for name in flag.names
)


@given(shells, st.lists(st.sampled_from([one for one in KNOWN if one not in MODELS]), max_size=3))
def test_a_secret_in_any_option_is_no_term(shell: str, options: list[str]) -> None:
    told = " ".join(f"{option} {CANARY}" for option in options)
    for inferred in infer_all(launches_in(shell.format(told, CANARY))):
        assert CANARY.lower() not in repr(inferred).lower()


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("8192", 8192),
        ("8k", 8000),
        ("8K", 8192),
        ("1.5k", 1500),
        ("1.0005k", None),
        ("8Ki", None),
        ("-1", None),
        ("9" * 12, None),
    ],
)
def test_numbers_of_tokens_are_read_by_the_suffixes_of_vllm(text: str, tokens: int | None) -> None:
    assert vllm.COUNT(text) == tokens
