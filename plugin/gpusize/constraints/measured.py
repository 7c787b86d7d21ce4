"""Does what was measured hold for what is judged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize.constraints.reason import Number, Reason, Weight
from gpusize.days import day_of, days

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate

NAME = "measured-override-stale"


def measured_override_stale(candidate: Candidate) -> Iterator[Reason]:
    """What was measured is of another GPU, engine or layout, cannot be, or is old."""
    if not candidate.workload.measured:
        return
    found = candidate.study.sizing.measurement(candidate.placement)
    if found is None:
        return
    one = found.measurement
    day = day_of(one.date)
    age = (candidate.study.today - day).days if day else 0
    limit = candidate.settings.max_measurement_age_days
    numbers: dict[str, Number] = {"ageDays": age, "measuredOn": one.gpu, "gpu": candidate.gpu.id}
    again = f"measure again on {candidate.gpu.id} with {candidate.study.engine}"
    if found.differences:
        why = "; ".join(found.differences)
        yield Reason(
            NAME,
            Weight.ADVICE,
            f"what was measured on {one.date} is not used on {candidate}: {why}",
            f"{again}, at {candidate.placement.layout}",
            numbers,
        )
    elif age > limit:
        yield Reason(
            NAME,
            Weight.ADVICE,
            f"what was measured on {one.date}, {days(age)} ago, takes the place of the estimate on"
            f" {candidate}, limit {limit}",
            again,
            numbers,
        )
