"""Holds gpusize and other estimators to the same measured rows, in one run.

    python -m bench.estimators --harness DIR --cases DIR

The harness is a folder outside this repository that installs the others, hands each the same cases
and scores them. gpusize joins by an adapter of the same form.
"""
