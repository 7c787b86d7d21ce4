"""Embedding of texts and recognition of speech on a model that can be counted by hand."""

from __future__ import annotations

import pytest

from gpusize.architecture import AttentionGroup
from gpusize.memory import alone, formats
from gpusize.memory.embedding import Embedder
from gpusize.memory.recognition import Recognizer
from gpusize.memory.result import Term, Verdict
from gpusize.memory.runtime import Device
from gpusize.memory.verdict import headroom
from gpusize.placement import Layout
from gpusize.workload import parse_workload
from gpusize_catalog.units import GIB, MIB
from tests.unit.memory.toys import DENSE, LINEAR, OTHER, TABLE

PARAMS = 2 * TABLE + LINEAR + OTHER
L4 = Device(22 * GIB, (8, 9), False)
CONTEXT = 600 * MIB
KEYS = 2 * 4 * 2 * 32
"""Keys and values of one token: 4 layers, 2 heads of 32."""
ENCODER = DENSE._replace(attention=(AttentionGroup("none", 4),))


@pytest.fixture
def embedder(catalog):
    def build(model=DENSE, **fields) -> Embedder:
        raw = {"kind": "serving", "modality": "embedding", "model": "BAAI/bge-m3"}
        raw = {**raw, "region": "us-east-1", "contextLength": 100, **fields}
        return Embedder(parse_workload(raw), model, catalog)

    return build


def test_a_pass_holds_the_widest_part_of_one_layer_and_every_cache(embedder):
    """The stream twice; beside it gate, up and product, or query, key, value and result."""
    work = embedder().pass_of(3)
    assert work.layer == 3 * 100 * 2 * (2 * 256 + 3 * 512)
    assert work.cache == 3 * 100 * 2 * KEYS
    assert work.size == work.layer + work.cache
    narrow = embedder(DENSE._replace(intermediate=300)).pass_of(3)
    assert narrow.layer == 3 * 100 * 2 * (2 * 256 + 4 * 256)
    plain = embedder(DENSE._replace(intermediate=None)).pass_of(3)
    assert plain.layer == 3 * 100 * 2 * (2 * 256 + 3 * 4 * 256)
    assert embedder(ENCODER).pass_of(3).cache == 0
    wide = embedder(weightsFormat="fp32", contextLength=200).pass_of(3)
    assert wide.layer == 4 * work.layer


def test_eager_attention_holds_three_squares_of_scores(embedder):
    flash, eager = (embedder(attention=how).pass_of(3) for how in ("flash", "eager"))
    assert eager.layer - flash.layer == 3 * 100 * 2 * 3 * 8 * 100


def test_the_need_of_a_pass_and_its_error(embedder):
    sizer = embedder(batch=3)
    work = sizer.pass_of(3)
    fit = sizer.measure(L4, Layout(dp=2))
    overhead = CONTEXT + round(0.05 * work.size)
    assert dict(fit.terms) == {
        Term.WEIGHTS: 2 * PARAMS,
        Term.ACTIVATIONS: work.size,
        Term.RUNTIME_OVERHEAD: overhead,
    }
    assert fit.need == 2 * PARAMS + work.size + overhead
    exact = (2 * PARAMS + work.cache) * 0.02
    error = round((exact**2 + (work.layer * 0.5) ** 2) ** 0.5)
    assert fit.band == error
    assert sizer.floor(Layout()) == 2 * PARAMS + work.size - error
    assert (fit.context_length, fit.dp, fit.constants) == (100, 2, ("transformers",))
    assert (fit.output.stage, fit.output.stored) == ("embed", 2 * PARAMS)
    assert (fit.output.largest_width, fit.output.largest_height) == (0, 0)


def most(sizer, usable: int, error) -> int:
    """The most texts or clips that leave the headroom, counted one by one."""
    held = 2 * PARAMS
    count = 0
    while True:
        work = sizer.pass_of(count + 1)
        spare = headroom(usable, error(held, work))
        if held + work.size + alone.overhead(work.size) + spare > usable:
            return count
        count += 1


def test_the_largest_batch_is_the_last_that_leaves_the_headroom(embedder):
    sizer = embedder(contextLength=8000)

    def error(held, work) -> int:
        return round((((held + work.cache) * 0.02) ** 2 + (work.layer * 0.5) ** 2) ** 0.5)

    usable = 3 * GIB
    fit = sizer.measure(Device(usable, (8, 9), False), Layout())
    assert fit.output.largest_batch == most(sizer, usable, error) > 10
    assert embedder().measure(L4, Layout()).output.largest_batch == 4096
    assert sizer.measure(Device(GIB, (8, 9), False), Layout()).output.largest_batch == 0


def test_a_batch_that_leaves_a_gib_to_the_byte_is_still_one(embedder, listener):
    for sizer in (embedder(), listener()):
        room = sizer.measure(L4, Layout())
        for usable, batch in ((room.need + GIB, 1), (room.need + GIB - 1, 0)):
            fit = sizer.measure(Device(usable, (8, 9), False), Layout())
            assert fit.output.largest_batch == batch
            assert (fit.verdict is Verdict.FITS) is bool(batch)


def test_floors_are_not_below_nothing(embedder, listener):
    none = DENSE._replace(embedding_params=0, head_params=0, linear_params=0, other_params=0)
    assert embedder(none).floor(Layout()) >= 0
    assert listener(none).floor(Layout()) >= 0


# Recognition of speech

SPEECH = DENSE._replace(
    attention=(DENSE.attention[0], AttentionGroup("cross", 4, None, 2, 32, positions=1500)),
    max_position=448,
)


@pytest.fixture
def listener(catalog):
    def build(model=SPEECH, **fields) -> Recognizer:
        raw = {"kind": "serving", "modality": "audio", "model": "openai/whisper-large-v2"}
        raw = {**raw, "region": "us-east-1", "seconds": 10, **fields}
        return Recognizer(parse_workload(raw), model, catalog)

    return build


def cache(clips: int, beams: int, repeated: bool, number: int = 2) -> int:
    """Half of 448 positions are written, in 4 layers and one more; 1500 are read, in 4."""
    written = 5 * 224 * beams
    read = 4 * 1500 * (beams if repeated else 1)
    return clips * number * (written + read) * 2 * 2 * 32


@pytest.mark.parametrize(
    ("fields", "beams", "repeated"),
    [
        ({}, 1, True),
        ({"beams": 4}, 4, True),
        ({"engine": "faster-whisper"}, 5, False),
        ({"engine": "faster-whisper", "beams": 2}, 2, False),
    ],
)
def test_each_beam_has_a_cache_and_some_engines_repeat_the_encoders(
    listener, fields, beams, repeated
):
    sizer = listener(**fields)
    work = sizer.pass_of(3)
    assert work.cache == cache(3, beams, repeated)
    assert work.encoder == 3 * 2 * 1500 * (2 * 256 + 2 * 512)
    assert work.size == work.cache + work.encoder
    told = {one.field: one.value for one in sizer.assumptions}
    assert told.get("beams") == (None if "beams" in fields else str(beams))


def test_a_plain_mlp_is_four_times_as_wide(listener):
    plain = listener(SPEECH._replace(intermediate=None)).pass_of(1)
    assert plain.encoder == 2 * 1500 * (2 * 256 + 2 * 4 * 256)


def test_a_model_without_an_encoder_reads_nothing(listener):
    work = listener(SPEECH._replace(attention=())).pass_of(1)
    assert (work.encoder, work.cache) == (0, 0)
    own = listener(SPEECH._replace(attention=SPEECH.attention[:1])).pass_of(1)
    assert (own.encoder, own.cache) == (0, 2 * 5 * 224 * 2 * 2 * 32)
    unread = SPEECH._replace(attention=(SPEECH.attention[1]._replace(positions=None),))
    assert listener(unread).pass_of(1).size == 0


def listened(held: int, work) -> int:
    """Weights by 2 %, the cache by 20 %, the encoder by half."""
    squares = (held * 0.02) ** 2 + (work.cache * 0.2) ** 2 + (work.encoder * 0.5) ** 2
    return round(squares**0.5)


def test_the_need_of_listening_and_its_error(listener):
    sizer = listener(batch=3)
    work = sizer.pass_of(3)
    fit = sizer.measure(L4, Layout(dp=2))
    overhead = CONTEXT + round(0.05 * work.size)
    assert dict(fit.terms) == {
        Term.WEIGHTS: 2 * PARAMS,
        Term.KV_CACHE: work.cache,
        Term.ACTIVATIONS: work.encoder,
        Term.RUNTIME_OVERHEAD: overhead,
    }
    assert fit.need == 2 * PARAMS + work.size + overhead
    assert fit.band == listened(2 * PARAMS, work)
    assert sizer.floor(Layout()) == 2 * PARAMS + work.size - fit.band
    assert (fit.output.stage, fit.output.stored, fit.dp) == ("transcribe", 2 * PARAMS, 2)
    assert (fit.output.largest_width, fit.output.largest_height) == (0, 0)
    assert fit.constants == ("transformers",)


def test_the_most_clips_are_the_last_that_leave_the_headroom(listener):
    sizer, usable = listener(), 2 * GIB
    fit = sizer.measure(Device(usable, (8, 9), False), Layout())
    assert fit.output.largest_batch == most(sizer, usable, listened) > 10
    assert sizer.measure(L4._replace(usable=10**13), Layout()).output.largest_batch == 4096


def test_numbers_are_as_wide_as_declared(listener, embedder):
    for build in (listener, embedder):
        assert [
            build(computePrecision=word).number for word in ("auto", "bf16", "fp16", "fp32")
        ] == [2, 2, 2, 4]
        assert build(weightsFormat="fp32").number == 4
        assert build(weightsFormat="fp32", computePrecision="bf16").number == 2
        assert build(weightsFormat="int8").number == 2


# Formats that a library loads


def test_what_is_not_known_is_a_problem_each(listener, embedder):
    blank = SPEECH._replace(max_position=None)
    assert "longest text of toy is not known" in listener(blank).problems
    odd = DENSE._replace(known=False, unknown_reason="odd")
    assert embedder(odd).problems == ["toy: odd"]
    nameless = embedder(DENSE._replace(native_format=None))
    assert nameless.problems == ["format of the weights of toy is not known"]
    assert nameless.number == 2
    assert embedder().problems == listener().problems == []
    assert embedder().assumptions == [
        ("weightsFormat", "bf16", "not declared: the checkpoint's own")
    ]
    assert embedder(weightsFormat="bf16").assumptions == []


def test_faster_whisper_quantizes_to_eight_bits_alone(listener):
    def told(word: str, engine: str) -> list[str]:
        return listener(engine=engine, weightsFormat=word).problems

    for word in ("int8", "fp16", "bf16", "fp32"):
        assert told(word, "faster-whisper") == told(word, "transformers") == []
    assert told("nf4", "transformers") == []
    assert told("nf4", "faster-whisper") == [
        "whether faster-whisper loads nf4 weights is not known"
    ]
    assert told("awq", "transformers") == ["whether transformers loads awq weights is not known"]


def test_each_format_that_is_quantized_to_while_loading_is_in_the_catalog(catalog):
    for word in alone.QUANTIZED:
        found = formats.find_format(catalog, word)
        assert found is not None and found.id == word


def test_a_verdict_of_texts_follows_the_gpu(embedder):
    sizer = embedder(batch=64, contextLength=8000)
    need = sizer.measure(L4, Layout()).need
    assert sizer.measure(L4._replace(usable=4 * need), Layout()).verdict is Verdict.FITS
    assert sizer.measure(L4._replace(usable=need), Layout()).verdict is Verdict.TIGHT
    assert sizer.measure(L4._replace(usable=need // 4), Layout()).verdict is Verdict.DOES_NOT_FIT
