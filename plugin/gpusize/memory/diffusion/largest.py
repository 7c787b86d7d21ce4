"""The most samples and the largest pictures that a GPU holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpusize.memory import alone

if TYPE_CHECKING:
    from collections.abc import Callable

    from gpusize.memory.diffusion.job import Job

MOST_SAMPLES = 1024
LONGEST_SIDE = 8192
SIDE_STEP = 16


def largest(job: Job, holds: Callable[[Job], bool]) -> tuple[int, int, int]:
    """The most samples of the size, and the sides of the largest picture of the batch.

    0 where there is none; sound has no sides.
    """
    batch = alone.most(MOST_SAMPLES, lambda count: holds(job._replace(batch=count)))
    if job.seconds:
        return batch, 0, 0
    unit = alone.most(LONGEST_SIDE // SIDE_STEP, lambda count: holds(_scaled(job, count)))
    if not unit:
        return batch, 0, 0
    scaled = _scaled(job, unit)
    return batch, scaled.width, scaled.height


def _scaled(job: Job, count: int) -> Job:
    """The same shape, its longer side so many steps long."""
    longer = max(job.width, job.height)
    width, height = [max(1, side * count // longer) * SIDE_STEP for side in (job.width, job.height)]
    return job._replace(width=width, height=height)
