"""What must hold between fields of pipelines."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize.declaring.relations.components import COMPONENTS
from gpusize.declaring.relations.given import Given, Relation
from gpusize_catalog.problems import Problem

LATENT_SCALE = 8
"""Pixels per latent pixel, each way, at least. Source: the pipelines of diffusers refuse others."""


def picture_sides(given: Given) -> Iterator[Problem]:
    """Latents are eight times smaller than pictures, each way."""
    for key in ("width", "height"):
        side = given.number(key)
        if side is not None and side % LATENT_SCALE:
            nearest = max(1, round(side / LATENT_SCALE)) * LATENT_SCALE
            yield Problem(key, f"{side} is not a multiple of {LATENT_SCALE}", f"give {nearest}")


def one_length(given: Given) -> Iterator[Problem]:
    """A video's length is declared once."""
    frames, seconds = given.has("frames"), given.has("seconds")
    if frames and seconds:
        yield Problem("seconds", "is given beside frames", "keep one of them")
    elif given.text("modality") == "video" and not (
        frames or seconds or given.is_bad("frames") or given.is_bad("seconds")
    ):
        yield Problem("frames", "is missing", "such as frames: 81, or seconds: 5")


def whole_on_each_gpu(given: Given) -> Iterator[Problem]:
    """What generates no tokens runs on each GPU by itself."""
    keys: tuple[str, ...] = ("tp", "pp", "ep")
    if given.text("kind") != "fine-tuning":
        keys += ("nodesPerReplica",)
    for key in keys:
        size = given.number(key)
        if size is not None and size > 1:
            yield Problem(
                key,
                "splits work that runs whole on each GPU",
                "leave it out; dp is the number of copies",
            )


def shards_among_sharers(given: Given) -> Iterator[Problem]:
    """Weights are sharded among the GPUs that share a sample."""
    if given.value("pipeline.shardedWeights") is True and (given.number("cp") or 1) == 1:
        yield Problem(
            "pipeline.shardedWeights",
            "needs several GPUs that share a sample",
            "give cp, such as cp: 4, or leave it out",
        )


def pipeline_by_name(given: Given) -> Iterator[Problem]:
    """A pipeline is named, or given by its components."""
    model = given.value("model")
    if isinstance(model, dict) and "components" not in model:
        yield Problem(
            "model",
            "is an architecture, a pipeline has several",
            "declare its components, or name a pipeline",
        )


EMBEDDING: tuple[Relation, ...] = (whole_on_each_gpu,)
AUDIO: tuple[Relation, ...] = (
    whole_on_each_gpu,
    shards_among_sharers,
    pipeline_by_name,
    *COMPONENTS,
)
PICTURES: tuple[Relation, ...] = (
    picture_sides,
    one_length,
    whole_on_each_gpu,
    shards_among_sharers,
    pipeline_by_name,
    *COMPONENTS,
)
