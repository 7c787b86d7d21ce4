"""Kinds that train a pipeline."""

from gpusize.declared.diffusion_training import DiffusionTraining
from gpusize.declared.generation import Film


class ImageFineTuning(DiffusionTraining):
    """A bounded run that adapts an image pipeline to pictures."""


class VideoFineTuning(Film, DiffusionTraining):
    """A bounded run that adapts a video pipeline to videos."""
