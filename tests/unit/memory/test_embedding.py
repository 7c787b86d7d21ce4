"""Memory of embedding texts: every term by itself, and what is told."""

from __future__ import annotations

import datetime
from typing import Any

import pytest

from gpusize.explain import to_text
from gpusize.explain_data import to_data
from gpusize.memory.fit import fit
from gpusize.memory.result import Term, Verdict
from gpusize.resolve import resolve
from gpusize.workload import parse_workload
from gpusize_catalog.problems import GpuSizeError

BGE = "BAAI/bge-m3"
QWEN = "Qwen/Qwen3-Embedding-0.6B"
TODAY = datetime.date(2026, 11, 30)


def declared(model: str, **fields: Any):
    raw = {
        "kind": "serving",
        "modality": "embedding",
        "model": model,
        "contextLength": 512,
        "region": "us-east-1",
        **fields,
    }
    return parse_workload(raw)


@pytest.fixture
def sized(catalog, place):
    def size(model: str, instance: str = "g6.xlarge", **fields: Any):
        return fit(declared(model, **fields), place(instance), catalog)

    return size


def test_weights_are_as_published_or_as_declared(sized) -> None:
    assert sized(BGE).term(Term.WEIGHTS) == 567_754_752 * 4
    assert sized(BGE, weightsFormat="fp16").term(Term.WEIGHTS) == 567_754_752 * 2
    assert sized(BGE).assumptions[0].value == "fp32"


def test_an_encoder_holds_the_tensors_of_one_layer(sized) -> None:
    found = sized(BGE, batch=8, weightsFormat="fp16")
    assert found.term(Term.ACTIVATIONS) == 8 * 512 * 2 * (2 * 1024 + 3 * 4096)


def test_a_decoder_keeps_the_cache_of_every_layer(sized) -> None:
    """Stated for the same architecture: 14 and 351 GB of 4 and 100 texts, which is the cache."""
    found = sized(QWEN, "p5.4xlarge", batch=4, contextLength=32_768)
    cache = 28 * 2 * 8 * 128 * 2
    one_layer = (2 * 1024 + 3 * 3072) * 2
    assert found.term(Term.ACTIVATIONS) == 4 * 32_768 * (cache + one_layer)
    assert 4 * 32_768 * cache == 14 * 2**30


def test_more_and_longer_texts_never_need_less(sized) -> None:
    sizes = [sized(QWEN, batch=batch).need for batch in (1, 2, 9, 64)]
    assert sizes == sorted(sizes)
    sizes = [sized(QWEN, contextLength=length).need for length in (1, 512, 513, 8192)]
    assert sizes == sorted(sizes)
    sizes = [sized(QWEN, weightsFormat=word).need for word in ("nf4", "int8", "bf16", "fp32")]
    assert sizes == sorted(sizes)


def test_the_largest_batch_leaves_room(sized) -> None:
    most = sized(BGE, contextLength=8192).output.largest_batch
    assert sized(BGE, contextLength=8192, batch=most).verdict is Verdict.FITS
    assert sized(BGE, contextLength=8192, batch=most + 1).verdict is not Verdict.FITS


def test_a_plan_is_one_gpu_with_the_time_of_its_texts(catalog) -> None:
    resolution = resolve(declared(BGE, batch=32), catalog, today=TODAY)
    assert (resolution.plan.gpus, resolution.plan.layout.tp) == (1, 1)
    assert "s per 1,000 texts on each GPU" in to_text(resolution)
    memory = to_data(resolution)["plan"]["memory"]
    assert (memory["stage"], memory["contextLength"]) == ("embed", 512)
    assert memory["largestWidth"] is None


def test_a_text_beyond_the_positions_is_told(catalog) -> None:
    from gpusize.constraints.memory import context_beyond_model_limit

    resolution = resolve(declared(BGE, contextLength=9000), catalog, today=TODAY)
    assert list(context_beyond_model_limit(resolution.candidate))


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"weightsFormat": "awq"}, "whether transformers loads awq weights is not known"),
        ({"computePrecision": "fp8"}, "embedding in fp8 is not modelled"),
    ],
)
def test_what_is_not_known_is_said(sized, fields, told) -> None:
    found = sized(BGE, **fields)
    assert found.verdict is Verdict.UNKNOWN
    assert told in found.reasons[0]


def test_pictures_are_not_embedded(sized) -> None:
    with pytest.raises(GpuSizeError, match="makes images"):
        sized("FLUX.1-dev")


def test_eager_attention_holds_its_scores(sized) -> None:
    """Reported of bge-m3: 128 GiB were asked for at once, the scores of 64 texts at full length."""
    fields: dict[str, Any] = {"batch": 64, "contextLength": 8192, "weightsFormat": "fp16"}
    eager, flash = (sized(BGE, attention=how, **fields) for how in ("eager", "flash"))
    scores = eager.term(Term.ACTIVATIONS) - flash.term(Term.ACTIVATIONS)
    assert scores == 3 * 128 * 2**30
    assert eager.verdict is Verdict.DOES_NOT_FIT


def test_a_reranker_is_the_embedding_model_of_its_size(sized) -> None:
    assert sized("Qwen/Qwen3-Reranker-0.6B").need == sized(QWEN).need
