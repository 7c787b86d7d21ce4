"""The tables about engines and trainers: constants by version, kernel support, formats."""

from __future__ import annotations

from gpusize_catalog import facts
from gpusize_catalog.table import Table, columns_of

ENGINES = Table(
    "engines",
    facts.EngineFacts,
    ("engine", "version_from"),
    columns_of(facts.EngineFacts),
)

KERNELS = Table(
    "kernels",
    facts.KernelSupport,
    ("format", "engine", "engine_from", "capability_from"),
    columns_of(facts.KernelSupport),
)

FORMATS = Table(
    "formats",
    facts.FormatFacts,
    ("id",),
    columns_of(facts.FormatFacts),
)

TRAINERS = Table(
    "trainers",
    facts.TrainerFacts,
    ("trainer", "version_from"),
    columns_of(facts.TrainerFacts),
)

SPEEDS = Table(
    "speeds",
    facts.SpeedFacts,
    ("engine", "weights"),
    columns_of(facts.SpeedFacts),
    references={"engine": ("engines",)},
)

DIFFUSION_TRAINERS = Table(
    "diffusion_trainers",
    facts.DiffusionTrainerFacts,
    ("trainer",),
    columns_of(facts.DiffusionTrainerFacts),
)
