"""What the program, the plugin, the pack and the command call the same: type tokens and the tag."""

from __future__ import annotations

PACKAGE = "gpusize"
COMPONENT = "gpusize:index:GpuWorkload"
"""Type of the component."""
SHORT_COMPONENT = "gpusize:GpuWorkload"
"""The same type as Pulumi YAML lets it be shortened."""
RESOLVE = "gpusize:index:resolve"
"""The function that decides without making anything."""
WORKLOAD_TAG = "gpusize:workload"
"""Tag of an AWS resource that names the declaration of what runs on it."""
WORKLOAD_LABEL = "gpusize/workload"
"""Annotation or label of an object of Kubernetes that does: keys there hold no colon."""
WAIVER_TAG = "gpusize:waiver"
"""Tag of an AWS resource that names the waivers it refers to."""
WAIVER_LABEL = "gpusize/waiver"
"""Annotation or label that does, on Kubernetes."""
