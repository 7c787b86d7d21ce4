"""Kinds that make or transcribe sound."""

from gpusize.declared.audio import Audio
from gpusize.declared.base import Bounded, Service


class AudioServing(Service, Audio):
    """A service that makes or transcribes sound."""


class AudioBatchInference(Bounded, Audio):
    """Bounded making or transcribing of clips."""


class AudioEvaluation(AudioBatchInference):
    """A bounded run that scores an audio model."""
