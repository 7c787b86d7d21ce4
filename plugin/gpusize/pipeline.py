"""A pipeline of components: text encoders, the denoiser that removes the noise, the VAE decoder."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpusize_catalog.facts import DiffusionComponent
    from gpusize_catalog.store import Catalog

DENOISERS = frozenset({"transformer", "transformer-2", "unet"})
ENCODER = "text-encoder"
DECODER = "vae"


class PipelineFacts(NamedTuple):
    """The components of one pipeline, as the catalog has them."""

    name: str
    makes: str
    """image, video or audio."""
    parts: tuple[DiffusionComponent, ...]

    @property
    def denoisers(self) -> tuple[DiffusionComponent, ...]:
        """Transformers or U-Nets; only one works at a time."""
        return tuple([part for part in self.parts if part.component in DENOISERS])

    @property
    def encoders(self) -> tuple[DiffusionComponent, ...]:
        """Text encoders."""
        return tuple([part for part in self.parts if part.component == ENCODER])

    @property
    def decoder(self) -> DiffusionComponent | None:
        """The VAE."""
        return next((part for part in self.parts if part.component == DECODER), None)

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
    if not pipeline.denoisers or any(
        None in (part.hidden, part.patch, part.patch_frames, part.rows_per_sample)
        for part in pipeline.denoisers
    ):
        missing.append(f"geometry of the denoiser of {pipeline.name} is not known")
    decoder = pipeline.decoder
    if decoder is None or not decoder.decoder_kind or None in (decoder.scale, decoder.scale_frames):
        missing.append(f"geometry of the VAE of {pipeline.name} is not known")
    return missing
