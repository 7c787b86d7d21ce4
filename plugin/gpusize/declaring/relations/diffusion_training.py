"""What must hold between fields of runs that train a pipeline."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize.declaring.relations.given import Given, Relation
from gpusize_catalog.problems import Problem


def steps_or_samples(given: Given) -> Iterator[Problem]:
    """The length of a run is declared once: its steps, or samples and epochs."""
    if given.has("trainSteps") and given.has("samples"):
        yield Problem(
            "samples", "stands beside trainSteps", "give trainSteps, or samples and epochs"
        )


def encoded_by_what_is_trained(given: Given) -> Iterator[Problem]:
    """A text encoder that changes encodes every caption anew."""
    if given.value("trainTextEncoder") is True and given.value("cachedTextEmbeddings") is True:
        yield Problem(
            "cachedTextEmbeddings",
            "a text encoder that is trained encodes every caption anew",
            "leave it out, or trainTextEncoder",
        )


def all_or_nothing_again(given: Given) -> Iterator[Problem]:
    """Trainers of pipelines compute all blocks again or none."""
    if given.text("recompute") == "selective":
        yield Problem("recompute", "selective is for language models", "give full or none")


def no_embeddings(given: Given) -> Iterator[Problem]:
    """What removes the noise has no table of tokens."""
    if given.value("adapter.trainEmbeddings") is True:
        told = "what removes the noise has no table of tokens"
        yield Problem("adapter.trainEmbeddings", told, "leave it out, or trainTextEncoder: true")


DIFFUSION_TRAINING: tuple[Relation, ...] = (
    steps_or_samples,
    encoded_by_what_is_trained,
    all_or_nothing_again,
    no_embeddings,
)
