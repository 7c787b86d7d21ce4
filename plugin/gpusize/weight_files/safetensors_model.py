"""The architecture of a config.json with the exact bytes of the weight files beside it."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path, PurePath
from typing import TYPE_CHECKING

from gpusize.architecture import Architecture, Stored
from gpusize.hub_config import read_config
from gpusize.hub_config.file import FILE_NAME
from gpusize.weight_files.opening import wrong
from gpusize.weight_files.parts import DRAFTS, PARTS, Sums, Tensor, sums_of
from gpusize.weight_files.safetensors_header import Index, read_index, read_tensors

if TYPE_CHECKING:
    from collections.abc import Sequence

PIECE = re.compile(r"-\d{5}-of-\d{5}\.safetensors$")
LAYER = re.compile(r"(?:^|\.)(?:layers|h|blocks)\.(\d{1,5})\.")
ADAPTER = ".lora_"
"""In the names of an adapter's tensors. Source: PEFT, tuners/lora/layer.py."""
TOWER = re.compile(r"visual|vision|audio")
PLAIN = {"BF16": "bf16", "F16": "fp16", "F32": "fp32"}
"""Types that hold one parameter each: their shapes tell how many there are."""
FORMATS = {**PLAIN, "F8_E4M3": "fp8", "F8_E5M2": "fp8"}


def read_safetensors(path: str, base_dir: Path | None = None) -> Architecture:
    """The architecture of the config.json beside a file or index; raises `GpuSizeError`."""
    architecture = _beside(path, base_dir)
    if PIECE.search(path):
        raise wrong(path, "is one of several pieces", "give model.safetensors.index.json")
    if not path.endswith(".json"):
        return _whole(architecture, read_tensors(path, base_dir), path)
    index = read_index(path, base_dir)
    folder = PurePath(path).parent
    pieces = [str(folder / name) for name in index.files]
    if all(((base_dir or Path()) / piece).is_file() for piece in pieces):
        tensors = [one for piece in pieces for one in read_tensors(piece, base_dir)]
        return _whole(architecture, tensors, path)
    return with_total(architecture, index, path)


def _beside(path: str, base_dir: Path | None) -> Architecture:
    """What the config.json in the same folder describes."""
    config = PurePath(path).with_name(FILE_NAME)
    if not ((base_dir or Path()) / config).is_file():
        told = f"has no {FILE_NAME} beside it, which tells layers and heads"
        raise wrong(path, told, f"put the model's {FILE_NAME} into the same folder")
    return read_config(str(config), base_dir)


def _whole(architecture: Architecture, tensors: Sequence[Tensor], path: str) -> Architecture:
    """The architecture with the bytes of its tensors, where they are a whole model."""
    if not tensors:
        raise wrong(path, "has no tensors", "give the weights of the model")
    if any(ADAPTER in one.name for one in tensors):
        raise wrong(path, "holds a LoRA adapter", "give the weights of its base model")
    found = {int(at[1]) for one in tensors if (at := LAYER.search(one.name))}
    if found and len(found) < architecture.layers:
        told = f"has {len(found)} of the {architecture.layers} layers of {FILE_NAME}"
        raise wrong(path, told, "give model.safetensors.index.json, or the whole file")
    return with_tensors(architecture, tensors)


def with_tensors(architecture: Architecture, tensors: Sequence[Tensor]) -> Architecture:
    """The architecture with the bytes of its tensors, drafts and a tied head left out."""
    kept = [one for one in tensors if not _is_draft(one, architecture.layers)]
    sums = sums_of(kept)
    kinds = Counter[str]()
    for tensor in kept:
        kinds[tensor.kind] += tensor.size
    largest = kinds.most_common(1)[0][0] if kinds else ""
    form = architecture.native_format or FORMATS.get(largest)
    if architecture.tie_embeddings:
        sums = Sums(_without_head(sums.sizes), _without_head(sums.elements))
    if set(kinds) <= set(PLAIN):
        architecture = _counted(architecture, sums)
    return architecture._replace(
        native_format=form,
        assumption=f"bytes of {len(kept)} tensors from the safetensors headers",
        stored=sums.stored(form or ""),
    )


def _is_draft(tensor: Tensor, layers: int) -> bool:
    """Whether a tensor belongs to layers for drafts, which lie beyond the model's own."""
    if DRAFTS.search(tensor.name):
        return True
    found = LAYER.search(tensor.name)
    return found is not None and int(found[1]) >= layers and not TOWER.search(tensor.name)


def _without_head(values: tuple[int, ...]) -> tuple[int, ...]:
    return tuple([0 if part == "head" else v for part, v in zip(PARTS, values, strict=True)])


def _counted(architecture: Architecture, sums: Sums) -> Architecture:
    """Parameters as the shapes tell them."""
    embedding, head, expert, linear, other = sums.elements
    experts, active = architecture.experts_total, architecture.experts_active
    idle = expert * (experts - active) // experts if experts and active else 0
    total = sum(sums.elements)
    return architecture._replace(
        total_params=total,
        active_params=total - (architecture.vision_params or 0) - idle,
        embedding_params=embedding,
        head_params=head,
        expert_params=expert,
        linear_params=linear,
        other_params=other,
    )


def with_total(architecture: Architecture, index: Index, path: str) -> Architecture:
    """The architecture with the total of an index whose files are not there."""
    if not index.total:
        raise wrong(path, "tells no total_size and its files are not beside it")
    return architecture._replace(
        assumption="bytes by the total of the safetensors index; its files are not there",
        stored=Stored(architecture.native_format or "", total=index.total),
    )
