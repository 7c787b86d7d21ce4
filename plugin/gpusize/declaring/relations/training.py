"""What must hold between fields of work that changes weights."""

from __future__ import annotations

from collections.abc import Iterator

from gpusize.declaring.relations.given import Given, Relation, unreleased
from gpusize_catalog.problems import Problem


def trainer_version(given: Given) -> Iterator[Problem]:
    """A trainer's version is a number."""
    yield from unreleased(given, "trainer.version", "0.20")


def batches_divide(given: Given) -> Iterator[Problem]:
    """A step is whole micro batches."""
    micro, whole = given.number("microBatch") or 1, given.number("globalBatch")
    if whole is not None and whole % micro:
        near = max(micro, whole // micro * micro)
        told = f"{whole} is not whole micro batches of {micro}"
        yield Problem("globalBatch", told, f"give {near}, or another microBatch")


def amount_of_training(given: Given) -> Iterator[Problem]:
    """The length of a run is declared once: tokens, or samples and epochs."""
    if given.has("tokens") and given.has("samples"):
        yield Problem("samples", "stands beside tokens", "give tokens, or samples and epochs")
    elif given.has("epochs") and not given.has("samples"):
        is_picture = given.text("modality") in ("image", "video")
        alone = "trainSteps" if is_picture else "tokens"
        yield Problem("epochs", "needs the samples of one pass", f"give samples, or {alone} alone")


def method_of_training(given: Given) -> Iterator[Problem]:
    """An adapter belongs to the methods that train one."""
    if given.text("method") == "full" and given.has("adapter"):
        yield Problem("adapter", "method full trains no adapter", "leave it out, or method: lora")


def offload_needs_shards(given: Given) -> Iterator[Problem]:
    """Weights go to the host where each rank keeps a part of them."""
    mode = given.text("sharding.mode")
    if given.text("sharding.offload") == "all" and mode not in (None, "zero-3", "fsdp"):
        told = f"weights are whole on each GPU with {mode}"
        yield Problem("sharding.offload", told, "mode: zero-3 or fsdp, or offload: optimizer")


def states_of_optimizer(given: Given) -> Iterator[Problem]:
    """An 8-bit optimizer has 8-bit moments."""
    word = given.text("optimizer") or ""
    if word.endswith("8bit") and given.has("optimizerPrecision"):
        yield Problem("optimizerPrecision", f"{word} keeps 8-bit moments", "leave it out")


TRAINING: tuple[Relation, ...] = (
    trainer_version,
    batches_divide,
    amount_of_training,
    method_of_training,
    offload_needs_shards,
    states_of_optimizer,
)
