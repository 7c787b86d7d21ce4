"""Decides: workload, memory, constraints, resolving, and the Pulumi component."""

__version__ = "0.1.0"
