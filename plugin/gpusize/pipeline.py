"""A pipeline of components: text encoders, what removes the noise or generates, the decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpusize_catalog.facts import DiffusionComponent
    from gpusize_catalog.store import Catalog

GENERATOR = "generator"
"""A part that makes tokens of sound, one after the other or to fill in."""
DENOISERS = frozenset({"transformer", "transformer-2", "unet", GENERATOR})
ENCODER = "text-encoder"
DECODERS = frozenset({"vae", "codec"})


class PipelineFacts(NamedTuple):
    """The components of one pipeline, as the catalog has them."""

    name: str
    makes: str
    """image, video or audio."""
    parts: tuple[DiffusionComponent, ...]

    @property
    def denoisers(self) -> tuple[DiffusionComponent, ...]:
        """Transformers, U-Nets or generators; only one works at a time."""
        return tuple([part for part in self.parts if part.component in DENOISERS])

    @property
    def encoders(self) -> tuple[DiffusionComponent, ...]:
        """Text encoders."""
        return tuple([part for part in self.parts if part.component == ENCODER])

    @property
    def decoder(self) -> DiffusionComponent | None:
        """The VAE, or the codec of sound."""
        return next((part for part in self.parts if part.component in DECODERS), None)

    @property
    def generates(self) -> bool:
        """Whether tokens are generated, and no noise is removed."""
        return any(part.component == GENERATOR for part in self.parts)

    @property
    def native_format(self) -> str:
        """Format in which it is published and loaded; empty: the compute precision."""
        return next((part.native_format for part in self.parts if part.native_format), "")

    @property
    def longest_seconds(self) -> float | None:
        """Longest clip that it makes; None: not known, or no sound."""
        return next((part.longest_seconds for part in self.parts if part.longest_seconds), None)

    @property
    def params(self) -> int:
        """Parameters of all components that are counted."""
        return sum(part.params or 0 for part in self.parts)


def find_pipeline(name: str, catalog: Catalog) -> PipelineFacts | None:
    """The pipeline of an id, whatever the case of letters; None where it is none."""
    found = catalog.pipeline_id(name)
    parts = catalog.components(found) if found else ()
    makes = next((part.makes for part in parts if part.makes), "")
    return PipelineFacts(parts[0].model, makes, parts) if makes else None


def unknown_facts(pipeline: PipelineFacts) -> list[str]:
    """What of a pipeline is not known and must be, to size it."""
    missing = [
        f"parameters of the {part.component} of {pipeline.name} are not known"
        for part in pipeline.parts
        if part.params is None
    ]
    if not pipeline.denoisers or any(None in _geometry(part) for part in pipeline.denoisers):
        what = GENERATOR if pipeline.generates else "denoiser"
        missing.append(f"geometry of the {what} of {pipeline.name} is not known")
    decoder = pipeline.decoder
    if decoder is None or not decoder.decoder_kind or None in (decoder.scale, decoder.scale_frames):
        what = "codec" if pipeline.generates else "VAE"
        missing.append(f"geometry of the {what} of {pipeline.name} is not known")
    return missing


def _geometry(part: DiffusionComponent) -> tuple[float | None, ...]:
    """What must be known of a part that works on samples."""
    if part.component == GENERATOR:
        return part.hidden, part.blocks, part.tokens_per_second or part.positions
    return part.hidden, part.patch, part.patch_frames, part.rows_per_sample
