"""A pipeline given by its components is sized as the same one of the catalog."""

from __future__ import annotations

from typing import Any

import pytest

from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Verdict
from gpusize.names import to_camel
from gpusize.pipeline import find_pipeline, unknown_facts
from gpusize.workload import InlineComponent, parse_workload
from gpusize_catalog.store import load

CATALOG = load()
PIPELINES = [
    found
    for name in CATALOG.pipelines()
    if (found := find_pipeline(name, CATALOG)) and not unknown_facts(found)
]
SIZES = {
    "image": {"width": 512, "height": 768},
    "video": {"width": 512, "height": 768, "frames": 33},
    "audio": {"seconds": 12},
}
SECOND = "transformer-2"
"""A second transformer is another component with the same part."""


def components(name: str) -> list[dict[str, Any]]:
    """The components of a pipeline of the catalog, as a user would declare them."""
    found = []
    for row in CATALOG.components(name):
        part = "transformer" if row.component == SECOND else row.component
        fields = {"part": part, **row._asdict()}
        known = {to_camel(key): fields[key] for key in InlineComponent.model_fields}
        if part == "unet":
            del known["patch"]
        declared = {key: value for key, value in known.items() if value not in (None, "", False)}
        own = {"patchFrames": 1, "rowsPerSample": 2, "scaleFrames": 1, "decoderShrink": 1}
        found.append({key: value for key, value in declared.items() if value != own.get(key)})
    return found


def sized(makes: str, model: Any, place: Any, **fields: Any) -> Fit:
    raw = {
        "kind": "serving",
        "modality": makes,
        "model": model,
        "region": "us-east-1",
        **SIZES[makes],
        **fields,
    }
    return fit(parse_workload(raw), place("p5.4xlarge"), CATALOG)


@pytest.mark.parametrize("pipeline", PIPELINES, ids=lambda one: one.name)
def test_components_are_sized_as_the_named_pipeline(pipeline, place) -> None:
    held = {"offload": "model", "tiling": True}
    for fields in ({}, {"pipeline": held, "batch": 3}):
        named = sized(pipeline.makes, pipeline.name, place, **fields)
        inline = {"name": pipeline.name, "components": components(pipeline.name)}
        assert sized(pipeline.makes, inline, place, **fields) == named
        assert named.verdict is not Verdict.UNKNOWN


def test_it_is_called_as_declared(place) -> None:
    parts = components("black-forest-labs/FLUX.1-dev")
    for part in parts:
        part.pop("attentionSets", None)
    model = {"name": "ours", "components": parts}
    found = sized("image", model, place, pipeline={"fusedProjections": True})
    assert "projections of ours are not known" in found.reasons
