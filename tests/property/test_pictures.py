"""What holds for pipelines and embeddings: more never needs less; nothing is against a plan."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import assume, given, settings
from hypothesis import strategies as st

from gpusize.architecture import architecture_for
from gpusize.constraints import DECLARATION
from gpusize.memory.diffusion import stages, weights
from gpusize.memory.diffusion.sizer import Diffusion
from gpusize.memory.recognition import Recognizer
from gpusize.memory.result import Verdict
from gpusize.pipeline import find_pipeline, unknown_facts
from gpusize.resolve import resolve
from gpusize.resolving.weighing import blocks, reasons_of
from gpusize.workload import Audio, Generation, parse_workload
from gpusize_catalog.store import load

CATALOG = load()
TODAY = datetime.date(2026, 11, 30)
PIPELINES = [
    found
    for name in CATALOG.pipelines()
    if (found := find_pipeline(name, CATALOG)) and not unknown_facts(found)
]
FORMATS = ("auto", "int8", "fp8", "nf4", "int4", "gguf-q4_0", "int8-bitsandbytes")
COPYING = "int8-bitsandbytes"
"""Its products take copies of their inputs, which may be more than the weights that it saves."""
SIDES = (256, 512, 720, 768, 1024, 1344, 2048)
OFFLOADS = ("none", "model", "sequential")


@st.composite
def declarations(draw: st.DrawFn) -> dict[str, Any]:
    """A declaration of pictures or sound without pins."""
    pipeline = draw(st.sampled_from(PIPELINES))
    fields: dict[str, Any] = {
        "kind": draw(st.sampled_from(("serving", "batch-inference", "evaluation"))),
        "modality": pipeline.makes,
        "model": pipeline.name,
        "region": draw(st.sampled_from(("us-east-1", "eu-central-1"))),
        "batch": draw(st.sampled_from((1, 2, 3, 8))),
        "concurrency": draw(st.sampled_from((1, 4))),
        "weightsFormat": draw(st.sampled_from(FORMATS)),
        "computePrecision": draw(st.sampled_from(("auto", "bf16", "fp16", "fp32"))),
        "pipeline": {
            "offload": draw(st.sampled_from(OFFLOADS)),
            "textEncoderFormat": draw(st.sampled_from(FORMATS)),
            "tiling": draw(st.booleans()),
            "slicing": draw(st.booleans()),
            "quantizedOnGpu": draw(st.booleans()),
        },
    }
    if pipeline.makes == "audio":
        fields["seconds"] = draw(st.floats(0.5, pipeline.longest_seconds or 100.0))
        return fields
    fields.update(width=draw(st.sampled_from(SIDES)), height=draw(st.sampled_from(SIDES)))
    if pipeline.makes == "video":
        fields["frames"] = draw(st.integers(1, 200))
    return fields


def peak(fields: dict[str, Any], sharing: int = 1, **changes: Any) -> int:
    """Bytes of the fullest stage."""
    workload = parse_workload({**fields, **changes})
    assert isinstance(workload, (Generation, Audio))
    sizer = Diffusion(workload, architecture_for(workload, CATALOG), CATALOG)
    assert not sizer.problems
    job = sizer.job._replace(sharing=sharing)
    held = weights.weights_of(sizer.pipeline, job, sizer.form, sizer.encoder)
    return stages.peak(sizer.pipeline, job, held).size


def held(fields: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """The pipeline's settings, changed."""
    return {**fields["pipeline"], **changes}


@given(declarations(), st.integers(1, 6))
def test_more_to_make_never_needs_less(fields: dict[str, Any], more: int) -> None:
    least = peak(fields)
    assert peak(fields, batch=fields["batch"] + more) >= least
    if "seconds" in fields:
        pipeline = find_pipeline(fields["model"], CATALOG)
        assert pipeline is not None
        longer = fields["seconds"] + 10 * more
        assert peak(fields, seconds=min(longer, pipeline.longest_seconds or longer)) >= least
        return
    assert peak(fields, width=fields["width"] + 8 * more) >= least
    assert peak(fields, height=fields["height"] + 8 * more) >= least
    if "frames" in fields:
        assert peak(fields, frames=fields["frames"] + more) >= least


@given(declarations())
def test_offload_tiles_and_slices_never_need_more(fields: dict[str, Any]) -> None:
    whole, by_model, by_layer = (
        peak(fields, pipeline=held(fields, offload=offload)) for offload in OFFLOADS
    )
    assert whole >= by_model >= by_layer
    for way in ("tiling", "slicing"):
        with_it, without = (
            peak(fields, pipeline=held(fields, **{way: on})) for on in (True, False)
        )
        assert with_it <= without


@given(declarations(), st.sampled_from((2, 4, 8)))
def test_sharing_a_sample_never_needs_more(fields: dict[str, Any], sharing: int) -> None:
    assert peak(fields, sharing=2 * sharing) <= peak(fields, sharing=sharing) <= peak(fields)


@given(declarations())
def test_a_wider_decoder_never_needs_less(fields: dict[str, Any]) -> None:
    wide, narrow = (
        peak(fields, pipeline=held(fields, decoderPrecision=word)) for word in ("fp32", "bf16")
    )
    assert wide >= narrow


@given(declarations())
def test_quantizing_never_adds(fields: dict[str, Any]) -> None:
    """Modules that cannot be offloaded are compared where nothing is."""
    assume(fields["weightsFormat"] != COPYING)
    plain = held(fields, textEncoderFormat="auto")
    if "int8-bitsandbytes" in (fields["weightsFormat"], fields["pipeline"]["textEncoderFormat"]):
        plain["offload"] = "none"
    fields = {**fields, "pipeline": {**fields["pipeline"], "offload": plain["offload"]}}
    assert peak(fields) <= peak(fields, weightsFormat="auto", pipeline=plain)


@settings(max_examples=25, deadline=None)
@given(declarations())
def test_nothing_speaks_against_an_open_plan(fields: dict[str, Any]) -> None:
    resolution = resolve(parse_workload(fields), CATALOG, today=TODAY)
    if resolution.plan is None:
        return
    assert resolution.candidate is not None
    against = [
        reason.name
        for reason in reasons_of(resolution.candidate)
        if blocks(reason) and reason.name not in DECLARATION
    ]
    assert not against
    assert resolution.plan.fit.verdict is Verdict.FITS
    assert resolution.plan.layout.tp == resolution.plan.layout.pp == 1


@given(declarations())
def test_no_gpu_below_the_floor_holds_it(fields: dict[str, Any]) -> None:
    workload = parse_workload(fields)
    assert isinstance(workload, (Generation, Audio))
    sizer = Diffusion(workload, architecture_for(workload, CATALOG), CATALOG)
    from gpusize.memory.runtime import Device
    from gpusize.placement import Layout

    floor = sizer.floor(Layout())
    found = sizer.measure(Device(max(1, floor - 1), (9, 0), False), Layout())
    assert found.verdict is Verdict.DOES_NOT_FIT


RECOGNIZERS = [one.id for one in CATALOG.models() if one.encoder_positions]


@settings(deadline=None)
@given(
    st.sampled_from(RECOGNIZERS),
    st.integers(1, 40),
    st.integers(1, 8),
    st.integers(1, 4000),
    st.integers(1, 9),
)
def test_more_to_transcribe_never_needs_less(
    model: str, batch: int, beams: int, seconds: int, more: int
) -> None:
    def need(**changes: Any) -> int:
        fields = {"batch": batch, "beams": beams, "seconds": seconds, **changes}
        raw = {"kind": "serving", "modality": "audio", "model": model, "region": "us-east-1"}
        workload = parse_workload({**raw, **fields})
        assert isinstance(workload, Audio)
        sizer = Recognizer(workload, architecture_for(workload, CATALOG), CATALOG)
        return sizer.pass_of(workload.batch).size

    least = need()
    assert need(batch=batch + more) > least
    assert need(beams=beams + more) > least
    assert need(seconds=seconds + more) >= least


@settings(max_examples=25, deadline=None)
@given(st.sampled_from(RECOGNIZERS), st.sampled_from((1, 8, 64)), st.sampled_from((1, 5)))
def test_nothing_speaks_against_an_open_plan_of_speech(model: str, batch: int, beams: int) -> None:
    fields = {
        "kind": "batch-inference",
        "modality": "audio",
        "model": model,
        "region": "us-east-1",
        "seconds": 600,
        "batch": batch,
        "beams": beams,
    }
    resolution = resolve(parse_workload(fields), CATALOG, today=TODAY)
    if resolution.plan is None:
        return
    assert resolution.candidate is not None
    assert not [reason.name for reason in reasons_of(resolution.candidate) if blocks(reason)]


@settings(max_examples=25, deadline=None)
@given(
    st.sampled_from([one.id for one in CATALOG.models() if one.modality == "embedding"]),
    st.sampled_from(("serving", "batch-inference", "evaluation")),
    st.sampled_from((16, 512)),
    st.sampled_from((1, 32, 1000)),
    st.sampled_from(("auto", "int8", "fp16")),
)
def test_nothing_speaks_against_an_open_plan_of_texts(
    model: str, kind: str, context: int, batch: int, form: str
) -> None:
    fields = {
        "kind": kind,
        "modality": "embedding",
        "model": model,
        "region": "us-east-1",
        "contextLength": context,
        "batch": batch,
        "weightsFormat": form,
    }
    resolution = resolve(parse_workload(fields), CATALOG, today=TODAY)
    if resolution.plan is None:
        return
    assert resolution.candidate is not None
    assert not [reason.name for reason in reasons_of(resolution.candidate) if blocks(reason)]
