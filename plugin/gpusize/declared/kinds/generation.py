"""Kinds that make images and videos."""

from gpusize.declared.base import Bounded, Service
from gpusize.declared.generation import Generation, VideoGeneration


class ImageServing(Service, Generation):
    """A service that makes images."""


class ImageBatchInference(Bounded, Generation):
    """Bounded making of images."""


class ImageEvaluation(ImageBatchInference):
    """A bounded run that scores an image pipeline."""


class VideoServing(Service, VideoGeneration):
    """A service that makes videos."""


class VideoBatchInference(Bounded, VideoGeneration):
    """Bounded making of videos."""


class VideoEvaluation(VideoBatchInference):
    """A bounded run that scores a video pipeline."""
