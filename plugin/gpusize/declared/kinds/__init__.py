"""The kinds of work: one class each, built when it is asked for.

A class of some fifty fields takes a millisecond to build, there are two dozen of them, and a
declaration needs one. What all kinds of a modality share is a class of the modules above, which
the sizing tells work apart by.
"""

from collections.abc import Iterator, Mapping
from importlib import import_module

from gpusize.declared.base import Workload
from gpusize.declared.words import Kind, Modality

_PLACES: dict[tuple[Kind, Modality], tuple[str, str]] = {
    (Kind.SERVING, Modality.TEXT): ("inference", "Serving"),
    (Kind.BATCH_INFERENCE, Modality.TEXT): ("inference", "BatchInference"),
    (Kind.EVALUATION, Modality.TEXT): ("kinds.inference", "Evaluation"),
    (Kind.FINE_TUNING, Modality.TEXT): ("kinds.training", "FineTuning"),
    (Kind.PRE_TRAINING, Modality.TEXT): ("kinds.training", "PreTraining"),
    (Kind.SERVING, Modality.VISION_LANGUAGE): ("kinds.inference", "VisionLanguageServing"),
    (Kind.BATCH_INFERENCE, Modality.VISION_LANGUAGE): (
        "kinds.inference",
        "VisionLanguageBatchInference",
    ),
    (Kind.EVALUATION, Modality.VISION_LANGUAGE): ("kinds.inference", "VisionLanguageEvaluation"),
    (Kind.FINE_TUNING, Modality.VISION_LANGUAGE): ("kinds.training", "VisionLanguageFineTuning"),
    (Kind.PRE_TRAINING, Modality.VISION_LANGUAGE): ("kinds.training", "VisionLanguagePreTraining"),
    (Kind.SERVING, Modality.IMAGE): ("kinds.generation", "ImageServing"),
    (Kind.BATCH_INFERENCE, Modality.IMAGE): ("kinds.generation", "ImageBatchInference"),
    (Kind.EVALUATION, Modality.IMAGE): ("kinds.generation", "ImageEvaluation"),
    (Kind.SERVING, Modality.VIDEO): ("kinds.generation", "VideoServing"),
    (Kind.BATCH_INFERENCE, Modality.VIDEO): ("kinds.generation", "VideoBatchInference"),
    (Kind.EVALUATION, Modality.VIDEO): ("kinds.generation", "VideoEvaluation"),
    (Kind.FINE_TUNING, Modality.IMAGE): ("kinds.diffusion_training", "ImageFineTuning"),
    (Kind.FINE_TUNING, Modality.VIDEO): ("kinds.diffusion_training", "VideoFineTuning"),
    (Kind.SERVING, Modality.EMBEDDING): ("kinds.embedding", "EmbeddingServing"),
    (Kind.BATCH_INFERENCE, Modality.EMBEDDING): ("kinds.embedding", "EmbeddingBatchInference"),
    (Kind.EVALUATION, Modality.EMBEDDING): ("kinds.embedding", "EmbeddingEvaluation"),
    (Kind.SERVING, Modality.AUDIO): ("kinds.audio", "AudioServing"),
    (Kind.BATCH_INFERENCE, Modality.AUDIO): ("kinds.audio", "AudioBatchInference"),
    (Kind.EVALUATION, Modality.AUDIO): ("kinds.audio", "AudioEvaluation"),
}
"""Module below `gpusize.declared`, and class."""
NAMES = {name: module for module, name in _PLACES.values()}
"""Module of a class."""


def named(name: str) -> type[Workload]:
    """The class of that name; raises KeyError where no kind has it."""
    found: type[Workload] = getattr(import_module(f"gpusize.declared.{NAMES[name]}"), name)
    return found


class Classes(Mapping[tuple[Kind, Modality], type[Workload]]):
    """The class of each kind and modality, built when it is looked up."""

    def __getitem__(self, pair: tuple[Kind, Modality]) -> type[Workload]:
        """Build the class; raises KeyError where no work is of that kind and modality."""
        return named(_PLACES[pair][1])

    def __iter__(self) -> Iterator[tuple[Kind, Modality]]:
        """Walk the pairs; no class is built."""
        return iter(_PLACES)

    def __len__(self) -> int:
        """Count the pairs."""
        return len(_PLACES)


WORKLOAD_CLASSES = Classes()
