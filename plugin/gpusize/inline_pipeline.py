"""A pipeline given by its components, as rows of the catalog would have it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from gpusize.pipeline import DENOISERS, GENERATOR, PipelineFacts
from gpusize_catalog.facts import DiffusionComponent

if TYPE_CHECKING:
    from gpusize.declared.components import InlineComponent
    from gpusize.workload import InlinePipeline

DECLARED = "declared"


def pipeline_of(model: InlinePipeline, makes: str) -> PipelineFacts:
    """The facts of a pipeline that is declared to make something of that modality."""
    parts = tuple([_row(model.name, one, makes) for one in model.components])
    return PipelineFacts(model.name, makes, parts)


def _row(name: str, part: InlineComponent, makes: str) -> DiffusionComponent:
    known: dict[str, Any] = {
        field: getattr(part, field)
        for field in DiffusionComponent._fields
        if field in type(part).model_fields
    }
    known.update(
        decoder_kind=_decoder_kind(part),
        native_format=part.native_format if part.part.value == GENERATOR else "",
        text_tokens=part.text_tokens or None,
        passes=part.rows_per_sample,
        patch=part.patch or (1 if part.part.value == "unet" else None),
    )
    blank = dict.fromkeys(DiffusionComponent._fields)
    return DiffusionComponent(
        **{
            **blank,
            **known,
            "model": name,
            "component": part.part.value,
            "class_or_name": part.part.value,
            "makes": makes if part.part.value in DENOISERS else "",
            "geometry_source": DECLARED,
            "notes": "",
            "source": DECLARED,
        }
    )


def _decoder_kind(part: InlineComponent) -> str:
    if part.decoder_kind is not None:
        return part.decoder_kind.value
    return "1d" if part.sample_rate else ""
