"""Decides: workload, memory, constraints, resolving, and the Pulumi component."""
