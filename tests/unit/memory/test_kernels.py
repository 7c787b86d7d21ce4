"""Which engine runs which format where."""

from __future__ import annotations

import pytest

from gpusize.memory.kernels import support

KNOWN = [
    ("bf16", "vllm", None, (7, 5), "refused"),
    ("bf16", "vllm", None, (8, 0), "native"),
    ("fp16", "vllm", None, (7, 5), "native"),
    ("fp8", "vllm", "0.19.0", (8, 9), "native"),
    ("fp8", "vllm", "0.19.0", (8, 6), "emulated"),
    ("fp8", "vllm", "0.15.1", (7, 5), "refused"),
    ("fp8", "vllm", "0.20.0", (7, 5), "emulated"),
    ("fp8", "vllm", None, (7, 0), "refused"),
    ("awq", "vllm", None, (7, 5), "native"),
    ("awq", "vllm", None, (7, 0), "refused"),
    ("gptq", "vllm", None, (7, 0), "native"),
    ("int8", "vllm", None, (7, 5), "native"),
    ("nvfp4", "vllm", None, (9, 0), "emulated"),
    ("nvfp4", "vllm", None, (12, 0), "native"),
    ("nvfp4", "sglang", None, (9, 0), "refused"),
    ("mxfp4", "vllm", None, (7, 5), "refused"),
    ("mxfp4", "vllm", "0.10.0", (9, 0), "refused"),
    ("nf4", "vllm", None, (7, 0), "native"),
    ("kv:fp8", "vllm", None, (8, 9), "native"),
    ("kv:fp8", "vllm", None, (8, 6), "emulated"),
    ("gguf-q4_k_m", "llama.cpp", None, (7, 5), "native"),
    ("awq", "llama.cpp", None, (8, 9), "refused"),
]


@pytest.mark.parametrize(("form", "engine_name", "version", "capability", "expected"), KNOWN)
def test_known_support(catalog, form, engine_name, version, capability, expected):
    assert support(catalog, form, engine_name, version, capability) == expected


def test_what_is_not_tabled_is_not_known(catalog):
    assert support(catalog, "fp8", "no-engine", None, (9, 0)) is None
    assert support(catalog, "no-format", "vllm", None, (9, 0)) is None
    assert support(catalog, "fp8", "vllm", None, None) is None


def test_every_row_names_a_known_format_and_engine(catalog):
    formats = {row.id for row in catalog.formats()} | {"gguf"}
    engines = set(catalog.engine_names())
    for form in formats | {f"kv:{word}" for word in formats}:
        for name in engines:
            for row in catalog.kernels(form, name):
                assert row.support in ("native", "emulated", "refused")
                assert row.source


def test_ranges_of_one_format_and_engine_do_not_overlap(catalog):
    capabilities = [(major, minor) for major in range(3, 13) for minor in range(10)]
    from gpusize.versions import in_range, parse_version

    versions = [parse_version(text) for text in ("0.1", "0.6.6", "0.11.0", "0.19.0", "0.33.0")]
    for form in [row.id for row in catalog.formats()] + ["gguf", "kv:fp8", "kv:int8"]:
        for name in catalog.engine_names():
            rows = catalog.kernels(form, name)
            for version in versions:
                for capability in capabilities:
                    found = [
                        row
                        for row in rows
                        if row.capability_from <= capability
                        and (row.capability_before or (99, 0)) > capability
                        and in_range(version, row.engine_from, row.engine_before)
                    ]
                    assert len(found) <= 1, found


def test_every_gpu_of_ec2_has_an_answer_for_the_common_formats(catalog):
    capabilities = {gpu.compute_capability for gpu in catalog.gpus() if gpu.cuda and gpu.on_ec2}
    for form in ("bf16", "fp16", "fp8", "awq", "gptq", "int4", "int8", "nvfp4", "mxfp4"):
        for name in ("vllm", "sglang"):
            for capability in capabilities - {None}:
                assert support(catalog, form, name, None, capability), (form, name, capability)
