"""Holds the memory of pipelines, sound and embedding to measured peaks: rows of `other.jsonl`."""

from __future__ import annotations

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

from bench.measured import sounds
from bench.measured.cases import GPUS, Skip
from bench.measured.score import Miss, percentile, worst_lines
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term, Verdict
from gpusize.pipeline import find_pipeline
from gpusize.placement import Layout, Placement
from gpusize.workload import Market, parse_workload
from gpusize_catalog.problems import GpuSizeError
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

TASKS = {"text-to-image": "image", "text-to-video": "video", "image-to-video": "video"}
OTHER_TASKS = "not of a pipeline, of sound or of embedding"
FORMATS = (
    (r"^(int8wo|int8dq|int8 torchao|int8|int8 \(.*\))$", "int8"),
    (r"^(fp8wo|fp8dq|fp8dqrow|fp8)$", "fp8"),
    (r"^(int4wo|int4)$", "int4"),
    (r"^int8 bnb$", "int8-bitsandbytes"),
    (r"^nf4$", "nf4"),
    (r"^gguf (q\w+)$", r"gguf-\1"),
)
"""What rows call a format, and its word here."""
CHANGED = re.compile(r"deleted|AutoencoderTiny|dropped")
"""Notes of runs whose pipeline is another one than the published."""
ENCODERS = re.compile(r"T5|TE[\d,]*3|text encoder")
"""A part of the text encoders that nearly all of their parameters are in."""
FUSED = re.compile(r"-fuset-|fused QKV")
IN_PLACE = re.compile(r"quantised in place|fused QKV keeps")
SLICED = "vae-slicing"
"""Settings that stand in a row's id or notes."""


class Peaks(NamedTuple):
    """Misses by modality, and why rows were left out."""

    misses: dict[str, list[Miss]]
    skipped: Counter[str]
    verdicts: Counter[str]
    """Of the rows that ran on a GPU that they name."""


def score_pictures(path: Path, catalog: Catalog) -> Peaks:
    """Predict every row of a file from what it declares."""
    result = Peaks({"image": [], "video": [], "audio": [], "embedding": []}, Counter(), Counter())
    for line in path.read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        try:
            _compare(row, catalog, result)
        except (Skip, GpuSizeError) as reason:
            result.skipped[str(reason)] += 1
    return result


def _compare(row: dict[str, Any], catalog: Catalog, result: Peaks) -> None:
    modality = TASKS.get(row["task"])
    if row["task"] in sounds.SOUNDS | sounds.TEXTS:
        _compare_whole(row, catalog, result)
        return
    if modality is None:
        raise Skip(f"{row['task'].partition(' ')[0]}: {OTHER_TASKS}")
    declared = declare(row, modality, catalog)
    measured = row["measured"] or {}
    if row["evidence"] != "measured" or not measured.get("peak_gib"):
        raise Skip("stated, not measured")
    found = fit(parse_workload(declared), place(row, catalog), catalog)
    if found.verdict is Verdict.UNKNOWN:
        raise Skip("; ".join(found.reasons))
    result.misses[modality].append(Miss(row["id"], _peak(found) / GIB, measured["peak_gib"]))
    if _gpu(row) is not None:
        result.verdicts[found.verdict.value] += 1


def _compare_whole(row: dict[str, Any], catalog: Catalog, result: Peaks) -> None:
    """Compare sound and texts, which state a peak of PyTorch or of the process."""
    hears = row["task"] in sounds.SOUNDS
    declared = sounds.of_sound(row, catalog) if hears else sounds.of_texts(row, catalog)
    found = fit(parse_workload(declared), place(row, catalog), catalog)
    if found.verdict is Verdict.UNKNOWN:
        raise Skip("; ".join(found.reasons))
    whole = (found.need or 0) if sounds.is_process(row) else _peak(found)
    modality: str = declared["modality"]
    result.misses[modality].append(Miss(row["id"], whole / GIB, row["measured"]["peak_gib"]))
    if row["measured"].get("fits") and _gpu(row) is not None:
        result.verdicts[found.verdict.value] += 1


def _peak(found: Fit) -> int:
    """What PyTorch counts: neither its context nor what its allocator keeps beside."""
    return (found.need or 0) - found.term(Term.RUNTIME_OVERHEAD)


def declare(row: dict[str, Any], modality: str, catalog: Catalog) -> dict[str, Any]:
    """Return a declaration of what a row ran; raises `Skip` where it cannot be said."""
    model = row["model"].partition(" (")[0]
    if find_pipeline(model, catalog) is None:
        raise Skip(f"no facts for {model}")
    text = f"{row['quantization'] or ''} {row['notes'] or ''}"
    if CHANGED.search(text):
        raise Skip("components were left out or exchanged")
    if row["n_gpus"] != 1:
        raise Skip("one pipeline over several GPUs")
    width, height, frames = _size(row, modality)
    form, encoder = _formats(row)
    notes = f"{row['id']} {row['notes'] or ''}"
    declared: dict[str, Any] = {
        "kind": "batch-inference",
        "modality": modality,
        "model": model,
        "region": "us-east-1",
        "computePrecision": _precision(row),
        "weightsFormat": form,
        "width": width,
        "height": height,
        "batch": row["batch"] or 1,
        "pipeline": {
            "offload": _offload(row),
            "textEncoderFormat": encoder,
            "tiling": row.get("vae_tiling") is True,
            "slicing": SLICED in notes,
            "quantizedOnGpu": form != "auto" and bool(IN_PLACE.search(notes)),
            "fusedProjections": bool(FUSED.search(notes)),
        },
    }
    return {**declared, "frames": frames} if frames else declared


def _size(row: dict[str, Any], modality: str) -> tuple[int, int, int | None]:
    sides = re.match(r"(\d+)x(\d+)$", row["resolution"] or "")
    if sides is None or (modality == "video" and not row["frames"]):
        raise Skip("resolution or frames are not stated")
    return int(sides[1]), int(sides[2]), row["frames"]


def _precision(row: dict[str, Any]) -> str:
    word: str = row["dtype"] or ""
    if word not in ("bf16", "fp16", "fp32"):
        raise Skip(f"precision {word}: components differ")
    return word


def _offload(row: dict[str, Any]) -> str:
    word = (row["offload"] or "none").partition(",")[0]
    if word not in ("none", "model", "sequential"):
        raise Skip(f"offload {word}")
    return word


def _formats(row: dict[str, Any]) -> tuple[str, str]:
    """Formats of the denoiser and of the text encoders."""
    words = row["quantization"]
    if words is None:
        return "auto", "auto"
    name, _, parts = words.partition(" transformer")
    alone = re.match(r"(\w+) T5", words)
    if alone:
        return "auto", _format(f"{alone[1]} bnb" if "bnb" in words else alone[1])
    form = _format(name)
    both = ENCODERS.search(parts) or "text encoder quantised" in (row["notes"] or "")
    return form, form if both else "auto"


def _format(word: str) -> str:
    for pattern, name in FORMATS:
        found = re.match(pattern, word)
        if found:
            return found.expand(name)
    raise Skip(f"weights format {word}")


def place(row: dict[str, Any], catalog: Catalog, *, is_named: bool = False) -> Placement:
    """The row's GPU; where it names none any one, for the peak is the same on all."""
    name = _gpu(row)
    if name is None and is_named:
        raise Skip("the GPU is not named, or not in the catalog")
    gpu = catalog.gpu(name or "H100")
    instance = catalog.instance("p5.4xlarge")._replace(gpu_id=gpu.id)
    return Placement(instance, gpu, 1, Layout(), "us-east-1", Market.ON_DEMAND)


def _gpu(row: dict[str, Any]) -> str | None:
    name = (row["gpu"] or "").lower()
    return next((one for pattern, one in GPUS if re.search(pattern, name)), None)


def report_pictures(result: Peaks, show: int) -> str:
    """One line per modality and for all, the worst rows, and what was left out."""
    everything = [miss for misses in result.misses.values() for miss in misses]
    drawn = [*result.misses["image"], *result.misses["video"]]
    lines = []
    for name, misses in (("diffusion", drawn), *result.misses.items()):
        if not misses:
            continue
        sizes = [abs(miss.error) for miss in misses]
        within = sum(size <= 0.2 for size in sizes) / len(sizes)
        bias = percentile([miss.error for miss in misses], 0.5)
        lines.append(
            f"{name} peak: n {len(sizes)}, median {percentile(sizes, 0.5):.2%}, "
            f"p90 {percentile(sizes, 0.9):.2%}, within 20 % {within:.0%}, bias {bias:+.2%}"
        )
    lines += worst_lines(everything, show)
    ran = result.verdicts
    lines.append(
        f"pictures verdicts: {ran.total()} ran, called does-not-fit {ran['does-not-fit']},"
        f" tight {ran['tight']}"
    )
    lines += [f"left out {count}: {reason}" for reason, count in result.skipped.most_common()]
    return "\n".join(lines)
