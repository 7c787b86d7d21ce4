"""Kinds that embed texts."""

from gpusize.declared.base import Bounded, Service
from gpusize.declared.embedding import Embedding


class EmbeddingServing(Service, Embedding):
    """A service that embeds texts."""


class EmbeddingBatchInference(Bounded, Embedding):
    """Bounded embedding of a set of texts."""


class EmbeddingEvaluation(EmbeddingBatchInference):
    """A bounded run that scores an embedding model."""
