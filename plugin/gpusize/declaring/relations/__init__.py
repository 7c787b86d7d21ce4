"""What must hold between the fields of a declaration, one function per subject.

Every function yields problems and looks only at values that are well-formed by themselves: what is
missing or told already is `None` here and never makes a second problem.
"""

from __future__ import annotations

from typing import Any

from gpusize.declaring.relations.buying import BUYING
from gpusize.declaring.relations.common import COMMON
from gpusize.declaring.relations.diffusion_training import DIFFUSION_TRAINING
from gpusize.declaring.relations.given import Given, Relation
from gpusize.declaring.relations.inline import INLINE
from gpusize.declaring.relations.measured import MEASURED
from gpusize.declaring.relations.pictures import AUDIO, EMBEDDING, PICTURES
from gpusize.declaring.relations.serving import SERVING
from gpusize.declaring.relations.training import TRAINING

__all__ = ["Given", "Relation", "relations_of"]

EVERYWHERE = COMMON + BUYING + SERVING + TRAINING + MEASURED
"""Relations of fields that are only there where the kind has them."""


def relations_of(data: dict[str, Any]) -> tuple[Relation, ...]:
    """The relations that can concern a declaration."""
    if data.get("modality") in ("image", "video"):
        trains = data.get("kind") == "fine-tuning"
        return EVERYWHERE + PICTURES + (DIFFUSION_TRAINING if trains else ())
    if data.get("modality") == "audio":
        return EVERYWHERE + AUDIO
    known = EVERYWHERE + EMBEDDING if data.get("modality") == "embedding" else EVERYWHERE
    return known + INLINE if isinstance(data.get("model"), dict) else known
