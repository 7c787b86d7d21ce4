"""What would fit where nothing does: changes of the declaration, each tried."""

from __future__ import annotations

from typing import TYPE_CHECKING


if TYPE_CHECKING:
    from gpusize.candidate import Candidate, Study


def would_fit(study: Study, tried: list[Candidate]) -> tuple[str, ...]:
    """Try changes in order; each that gives a plan is one sentence with its price."""
    return ()
