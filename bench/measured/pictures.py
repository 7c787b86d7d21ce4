"""Holds the memory of pipelines, sound and embedding to measured peaks: rows of `other.jsonl`."""

from __future__ import annotations

import re
from typing import Any

from bench.measured import generation, peaks, picture_times, programs, sounds
from bench.measured.frame import Answer, Asked, Held, Row, Skip, Subject, flag, known, number
from bench.measured.gpus import gpu_id
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term
from gpusize.pipeline import find_pipeline
from gpusize.placement import Layout, Placement
from gpusize.workload import Generation, Market, parse_workload
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

TASKS = {"text-to-image": "image", "text-to-video": "video", "image-to-video": "video"}
SIDES = re.compile(r"(\d+)x(\d+)$")
PEAK, SECONDS = "peak", "seconds"
OTHER_TASKS = "not of a pipeline, of sound or of texts"
FORMATS = (
    (r"^(int8wo|int8dq|int8 torchao|int8|int8 \(.*\))$", "int8"),
    (r"^(fp8wo|fp8dq|fp8dqrow|fp8)$", "fp8"),
    (r"^(int4wo|int4)$", "int4"),
    (r"^int8 bnb$", "int8-bitsandbytes"),
    (r"^nf4$", "nf4"),
    (r"^gguf (q\w+)$", r"gguf-\1"),
    (r"^(fp\d_e\dm\d|fp6|int4dq|sparsify|autoquant)$", r"\1"),
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


def asks(row: Row, catalog: Catalog) -> Asked:
    """What a row states that was measured; raises `Skip` where it cannot be scored."""
    task = str(row["task"] or "")
    if task in TASKS:
        _check(row, TASKS[task], catalog)
        groups: tuple[str, ...] = ("diffusion", f"diffusion.{TASKS[task]}")
    elif task in sounds.SOUNDS | sounds.TEXTS:
        sounds.check(row, catalog)
        groups = ("diffusion", "diffusion.audio") if task in sounds.SOUNDS else ("embedding",)
    elif task.startswith(generation.TASK):
        generation.check(row, catalog)
        groups = (generation.GROUP,)
    else:
        raise Skip(f"{task.partition(' ')[0]}: {OTHER_TASKS}")
    measured = row["measured"]
    peak = number(measured["peak_gib"])
    ran = False if measured["oom"] else flag(measured["fits"])
    held = [] if peak is None else [Held(PEAK, peak, groups)]
    seconds = number(measured["seconds"])
    has_gpu = gpu_id(row["gpu"]) is not None
    if seconds and has_gpu and task in TASKS and picture_times.is_timed(row):
        held.append(Held(SECONDS, seconds, (picture_times.group_of(row),)))
    return Asked(tuple(held), ran if has_gpu else None)


def answers(row: Row, catalog: Catalog) -> Answer:
    """What gpusize says of a row."""
    if row["task"] in TASKS:
        return _drawn(row, catalog)
    if row["task"].startswith(generation.TASK):
        return generation.answers(row, catalog)
    hears = row["task"] in sounds.SOUNDS
    declared = sounds.of_sound(row, catalog) if hears else sounds.of_texts(row)
    found = known(fit(parse_workload(declared), place(row, catalog), catalog))
    whole = (found.need or 0) if peaks.is_process(row) else _peak(found)
    return Answer({PEAK: whole / GIB}, found.verdict, found.reasons)


def _drawn(row: Row, catalog: Catalog) -> Answer:
    declared, placement = declare(row), place(row, catalog)
    workload = parse_workload(declared)
    assert isinstance(workload, Generation)
    found = known(fit(workload, placement, catalog))
    values, bands = {PEAK: peaks.peak_of(row, found, workload, catalog) / GIB}, {}
    if picture_times.is_timed(row):
        time = picture_times.time_of(row, declared, placement, catalog)
        if time is not None:
            values[SECONDS] = time.seconds
            bands[SECONDS] = (time.low, time.high)
    return Answer(values, found.verdict, found.reasons, bands=bands)


def _peak(found: Fit) -> int:
    """What PyTorch counts: neither its context nor what its allocator keeps beside."""
    return (found.need or 0) - found.term(Term.RUNTIME_OVERHEAD)


def _check(row: Row, modality: str, catalog: Catalog) -> None:
    model = _model(row)
    is_sized = SIDES.match(row["resolution"] or "") and (modality != "video" or row["frames"])
    for is_there, reason in (
        (row["evidence"] == "measured", "stated, not measured"),
        (find_pipeline(model, catalog), f"no facts for {model}"),
        (not CHANGED.search(_words(row)), "components were left out or exchanged"),
        (row["dtype"], "precision is not stated"),
        (row["batch"], "batch is not stated"),
        (is_sized, "resolution or frames are not stated"),
    ):
        if not is_there:
            raise Skip(reason)


def _model(row: Row) -> str:
    name: str = row["model"] or ""
    return name.partition(" (")[0]


def _words(row: Row) -> str:
    return f"{row['quantization'] or ''} {row['notes'] or ''}"


def declare(row: Row) -> dict[str, Any]:
    """A declaration of what a row about pictures ran; raises `Skip` where it cannot be said."""
    modality = TASKS[row["task"]]
    held, habit = programs.held(row), programs.habit_of(row)
    sides = SIDES.match(row["resolution"])
    assert sides is not None
    form, encoder = _formats(row)
    if held.sharded and form == "auto":
        form = habit.sharded_format
    notes = f"{row['id']} {row['notes'] or ''}"
    declared: dict[str, Any] = {
        "kind": "batch-inference",
        "modality": modality,
        "model": _model(row),
        "region": "us-east-1",
        "computePrecision": _precision(row),
        "weightsFormat": form,
        "width": int(sides[1]),
        "height": int(sides[2]),
        "batch": row["batch"],
        "pipeline": {
            "offload": held.offload,
            "textEncoderFormat": encoder,
            "tiling": habit.tiling if row["vae_tiling"] is None else bool(row["vae_tiling"]),
            "slicing": SLICED in notes,
            "quantizedOnGpu": form != "auto" and bool(IN_PLACE.search(notes)),
            "fusedProjections": bool(FUSED.search(notes)),
            "shardedWeights": held.sharded,
        },
        "cp": held.sharing,
    }
    return {**declared, "frames": row["frames"]} if modality == "video" else declared


def _precision(row: Row) -> str:
    word: str = row["dtype"] or ""
    if word not in ("bf16", "fp16", "fp32"):
        raise Skip(f"precision {word}: components differ")
    return word


def _formats(row: Row) -> tuple[str, str]:
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


def place(row: Row, catalog: Catalog) -> Placement:
    """The row's GPU; where it names none any one, for the peak is the same on all."""
    gpu = catalog.gpu(gpu_id(row["gpu"]) or "H100")
    count = row["n_gpus"] or 1
    instance = catalog.instance("p5.4xlarge")._replace(gpu_id=gpu.id, gpus=count)
    layout = Layout(cp=count if row["task"] in TASKS else 1)
    return Placement(instance, gpu, 1, layout, "us-east-1", Market.ON_DEMAND)


SUBJECT = Subject("other.jsonl", "other", asks, answers)
