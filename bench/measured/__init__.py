"""Holds the memory model to runs that somebody measured and published.

    python -m bench.measured CASES_DIR

Only what a user could have declared is given to the model; what was measured is what it is held
to. A row that cannot be predicted is counted with its reason, never dropped in silence.
"""

from __future__ import annotations

from pathlib import Path

from bench.measured import pictures, serving, throughput, training
from bench.measured.frame import hold
from bench.measured.summary import Summary, empty
from gpusize_catalog.store import load

SUBJECTS = (serving.SUBJECT, training.SUBJECT, pictures.SUBJECT, throughput.SUBJECT)


def run(folder: Path) -> Summary:
    """Hold gpusize to every row of a folder."""
    summary = empty()
    catalog = load()
    for subject in SUBJECTS:
        hold(subject, folder, catalog, summary)
    return summary
