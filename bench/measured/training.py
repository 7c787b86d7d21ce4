"""Rows of `training.jsonl`: peaks and verdicts of training runs."""

from __future__ import annotations

from bench.measured.cases import model_of
from bench.measured.diffusion_cases import MODALITIES, size_of
from bench.measured.frame import Answer, Asked, Held, Row, Skip, Subject, flag, known, number
from bench.measured.training_cases import find_gpu, is_capped, layout_of, read
from gpusize.memory.fit import fit
from gpusize.memory.result import Fit, Term
from gpusize.pipeline import find_pipeline
from gpusize_catalog.store import Catalog
from gpusize_catalog.units import GIB

PEAK = "peak"
OUTSIDE = {
    "allocated": (Term.ALLOCATOR_SLACK, Term.RUNTIME_OVERHEAD, Term.COMMUNICATION),
    "reserved": (Term.RUNTIME_OVERHEAD, Term.COMMUNICATION),
    "process": (),
}
"""Terms that a kind of measurement does not see."""
ESTIMATED = "official estimator"
STATED = "stated"
"""Starts of evidence that is no measurement of a peak; what is stated to run did."""
CAPPED = "training.capped"
"""Rows whose sequences are as long as their data: what is stated bounds them, and so the peak."""


def asks(row: Row, catalog: Catalog) -> Asked:
    """What a row states that was measured; raises `Skip` where it cannot be scored."""
    evidence = str(row["evidence"] or "")
    if evidence.startswith(ESTIMATED):
        raise Skip("an estimate, not a measurement")
    if row["component"]:
        raise Skip("a part, not the whole peak")
    group = _group(row, catalog)
    measured = row["measured"]
    peak = number(measured["peak_gib_per_gpu"])
    held = [] if peak is None or evidence.startswith(STATED) else [Held(PEAK, peak, (group,))]
    ran = False if measured["oom"] else flag(measured["fits"])
    has_gpu = find_gpu(row, catalog)[1]
    return Asked(tuple(held), ran if has_gpu and group != CAPPED else None)


def answers(row: Row, catalog: Catalog) -> Answer:
    """What gpusize says of a row."""
    case = read(row, catalog)
    found = known(fit(case.workload, case.placement, catalog, case.architecture))
    return Answer({PEAK: seen_bytes(found, case.kind) / GIB}, found.verdict, found.reasons)


def seen_bytes(found: Fit, kind: str) -> int:
    """What of the need a kind of measurement counts."""
    return (found.need or 0) - sum(found.term(term) for term in OUTSIDE[kind])


def _group(row: Row, catalog: Catalog) -> str:
    """Where a row counts; raises `Skip` for what it does not state."""
    draws = row["modality"] in MODALITIES
    length = size_of(row) if draws else number(row["seq_len"])
    for is_there, what in (
        (row["method"], "method"),
        (row["weights_dtype"], "precision"),
        (number(row["micro_batch"]), "micro batch"),
        (length, "resolution" if draws else "sequence length"),
        (not _hides_offload(row), "what is offloaded"),
    ):
        if not is_there:
            raise Skip(f"{what} is not stated")
    if draws:
        if find_pipeline(row["model"], catalog) is None:
            raise Skip(f"no facts for {row['model']}")
        return "training.other"
    architecture = model_of(row, catalog)
    if is_capped(row):
        return CAPPED
    is_whole = not architecture.experts_total and not architecture.vision_params
    return f"training.{'dense' if is_whole and layout_of(row).pp == 1 else 'other'}"


def _hides_offload(row: Row) -> bool:
    """Whether a row is of a run that offloads by its source, and does not say what."""
    return "offload" in (row["source"] or "") and "offload" not in (row["sharding"] or "")


SUBJECT = Subject("training.jsonl", "training", asks, answers)
