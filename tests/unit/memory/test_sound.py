"""Memory of sound: diffusion, generators and speech recognition, against published numbers."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.workload import parse_workload
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.units import GIB

STABLE = "stabilityai/stable-audio-open-1.0"
ACE = "ACE-Step/acestep-v15-turbo"
MUSICGEN = "facebook/musicgen-large"
BARK = "suno/bark-small"
WHISPER = "openai/whisper-large-v2"


@pytest.fixture
def heard(catalog, place):
    """The fit of ten seconds of sound, on one H100 where nothing else is said."""

    def size(model: str, instance: str = "p5.4xlarge", **fields: Any) -> Fit:
        raw = {
            "kind": "batch-inference",
            "modality": "audio",
            "model": model,
            "seconds": 10,
            "region": "us-east-1",
            **fields,
        }
        return fit(parse_workload(raw), place(instance), catalog)

    return size


def peak(found: Fit) -> float:
    """GiB that PyTorch counts."""
    return ((found.need or 0) - found.term(Term.RUNTIME_OVERHEAD)) / GIB


@pytest.mark.parametrize(
    ("model", "fields", "measured", "within"),
    [
        (BARK, {}, 1.783, 0.07),
        (BARK, {"computePrecision": "fp16", "pipeline": {"offload": "model"}}, 0.437, 0.15),
        ("suno/bark", {}, 4.657, 0.05),
        ("suno/bark", {"computePrecision": "fp16", "pipeline": {"offload": "model"}}, 0.931, 0.20),
    ],
)
def test_published_peaks_of_bark(heard, model, fields, measured, within) -> None:
    """Source: huggingface/blog 062647cf, optimizing-bark.md; those of the large one are rounded."""
    assert peak(heard(model, **fields)) == pytest.approx(measured, rel=within)


def test_a_process_that_transcribes_with_five_beams(heard) -> None:
    """Source: SYSTRAN/faster-whisper 65882ee, README: transformers in fp16, 4960 MB."""
    found = heard(WHISPER, weightsFormat="fp16", beams=5)
    assert found.need / GIB == pytest.approx(4.844, rel=0.02)


@pytest.mark.parametrize(
    ("fields", "measured", "within"),
    [({}, 4.419, 0.12), ({"batch": 8}, 5.947, 0.21), ({"weightsFormat": "int8"}, 2.857, 0.16)],
)
def test_processes_of_faster_whisper(heard, fields, measured, within) -> None:
    """Source: the same, 4525, 6090 and 2926 MB; five beams are its own."""
    found = heard(WHISPER, engine="faster-whisper", **{"weightsFormat": "fp16", **fields})
    assert found.need / GIB == pytest.approx(measured, rel=within)
    assert ("beams", "5") in [(one.field, one.value) for one in found.assumptions]


def test_caches_of_a_recognizer_grow_with_clips_and_beams(heard) -> None:
    one = heard(WHISPER).term(Term.KV_CACHE)
    assert one == 2 * 2 * 20 * 64 * (32 * 1500 + 33 * 224)
    assert heard(WHISPER, batch=3, beams=4).term(Term.KV_CACHE) == 12 * one


def test_a_longer_clip_is_read_window_by_window(heard) -> None:
    assert heard(WHISPER, seconds=3600).need == heard(WHISPER, seconds=30).need


def test_guidance_doubles_what_a_generator_keeps(heard) -> None:
    found = heard(MUSICGEN, seconds=30)
    assert found.output.stage == "generate"
    kept = 2 * 49 * 2048 * 1500
    assert found.term(Term.ACTIVATIONS) == 2 * 4 * (kept + 10 * 2048)


def test_checkpoints_in_fp32_are_loaded_so(heard) -> None:
    wide, half = heard(MUSICGEN), heard(MUSICGEN, computePrecision="bf16")
    assert wide.term(Term.WEIGHTS) == 4 * 3_421_895_234
    assert wide.assumptions[0].value == "fp32"
    assert wide.term(Term.WEIGHTS) == 2 * half.term(Term.WEIGHTS)
    assert heard(MUSICGEN, "g4dn.12xlarge").assumptions[0].value == "fp32"


def test_stable_audio_makes_its_whole_window(heard) -> None:
    found = heard(STABLE, seconds=1)
    assert found.need == heard(STABLE, seconds=47).need
    assert found.output.stage == "decode"
    assert found.term(Term.ACTIVATIONS) == 4 * 1024 * 2048 * 128 * 2


def test_tiles_bound_the_decoder(heard) -> None:
    whole, tiled = (heard(ACE, seconds=240, pipeline={"tiling": on}) for on in (False, True))
    assert whole.term(Term.ACTIVATIONS) == 4 * 240 * 48000 * 128 * 2
    assert tiled.term(Term.ACTIVATIONS) < whole.term(Term.ACTIVATIONS) / 10
    assert tiled.output.largest_seconds == 600


def test_the_longest_clip_and_largest_batch_leave_room(heard) -> None:
    output = heard(ACE, "g6.xlarge", seconds=60).output
    assert 60 < output.largest_seconds < 600
    for fields in ({"seconds": output.largest_seconds}, {"batch": output.largest_batch}):
        found = heard(ACE, "g6.xlarge", **{"seconds": 60, **fields})
        assert found.verdict is Verdict.FITS
    more = heard(ACE, "g6.xlarge", seconds=output.largest_seconds + 1)
    assert more.verdict is not Verdict.FITS
    batch = heard(WHISPER, "g6.xlarge").output.largest_batch
    assert heard(WHISPER, "g6.xlarge", batch=batch).verdict is Verdict.FITS
    assert heard(WHISPER, "g6.xlarge", batch=batch + 1).verdict is not Verdict.FITS


def test_weights_that_wait_are_said(heard) -> None:
    assert heard(BARK).host == 0
    found = heard(BARK, pipeline={"offload": "model"})
    assert found.host == heard(BARK).term(Term.WEIGHTS)


@pytest.mark.parametrize(
    ("model", "fields", "told"),
    [
        (MUSICGEN, {"steps": 8}, "steps: facebook/musicgen-large makes tokens one after the other"),
        (MUSICGEN, {"seconds": 31}, "seconds: 31 is longer than the 30 s"),
        (STABLE, {"beams": 5}, "beams: stabilityai/stable-audio-open-1.0 removes noise in steps"),
        (WHISPER, {"steps": 8}, "steps: openai/whisper-large-v2 writes down what is said"),
        (MUSICGEN, {"engine": "faster-whisper"}, "engine: faster-whisper only transcribes"),
        (WHISPER, {"pipeline": {"tiling": True}}, "pipeline: openai/whisper-large-v2 is one model"),
        ("meta-llama/Llama-3.1-8B", {}, "model: meta-llama/Llama-3.1-8B makes no audio"),
        ("black-forest-labs/FLUX.1-dev", {}, "makes images (declare modality image)"),
        ("BAAI/bge-m3", {}, "model: BAAI/bge-m3 makes no audio"),
    ],
)
def test_what_does_not_go_with_a_model_is_told(heard, model, fields, told) -> None:
    with pytest.raises(GpuSizeError) as caught:
        heard(model, **fields)
    assert told in str(caught.value)


def test_everything_that_does_not_go_is_told_at_once(heard) -> None:
    with pytest.raises(GpuSizeError) as caught:
        heard(MUSICGEN, steps=8, beams=2, seconds=100)
    assert [problem.path for problem in caught.value.problems] == ["steps", "beams", "seconds"]


@pytest.mark.parametrize(
    ("model", "fields", "reason"),
    [
        ("ACE-Step/ACE-Step-v1-3.5B", {}, "geometry of the denoiser of ACE-Step/ACE-Step-v1-3.5B"),
        (WHISPER, {"weightsFormat": "awq"}, "whether transformers loads awq weights is not known"),
        (WHISPER, {"engine": "faster-whisper", "weightsFormat": "nf4"}, "faster-whisper loads nf4"),
        (MUSICGEN, {"weightsFormat": "awq"}, "whether transformers loads awq weights"),
        (WHISPER, {"computePrecision": "fp8"}, "recognition in fp8 is not modelled"),
    ],
)
def test_what_is_not_known_is_said(heard, model, fields, reason) -> None:
    found = heard(model, **fields)
    assert found.verdict is Verdict.UNKNOWN
    assert reason in "; ".join(found.reasons)


def test_text_is_not_served_by_a_generator_of_sound(catalog, place, declare) -> None:
    with pytest.raises(GpuSizeError, match="makes audio"):
        fit(declare(MUSICGEN), place("g6e.xlarge"), catalog)
