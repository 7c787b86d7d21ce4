"""How long work takes, as every model of time answers it.

Two figures stand side by side. A *bound* takes every peak for granted: nothing is faster. An
*estimate* goes by the catalog's speeds: reading, computing and the launches of each layer take
turns, each at the share of its peak that the engine reaches. What lies between is not known.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from gpusize.links import Link


class Pace(NamedTuple):
    """Seconds that a pipeline takes on one GPU for each sample."""

    what: str
    """image, or second of video or sound."""
    seconds: float
    """Estimate, and the ends of its error band."""
    low: float
    high: float
    bound: float
    """At the peak: nothing is faster."""


class Timing(NamedTuple):
    """Seconds of one replica at the declared concurrency; None: not known, `unknown` says why."""

    token_seconds: float | None
    """Between two tokens of one sequence, estimate."""
    token_bound: float | None
    """The same at every peak: no setting of this placement is faster."""
    prefill_seconds: float | None
    """First token of a long prompt without queueing, estimate."""
    prefill_bound: float | None
    communication_share: float | None
    """Part of the engine's time that is spent moving data between GPUs."""
    link: str
    link_bandwidth: float | None
    tokens_per_second: float | None
    """Output of the replica, all sequences together, prefill included."""
    bytes_per_step: float | None
    """Read from the memory of the busiest GPU in one step."""
    unknown: tuple[str, ...]
    step_seconds: float | None = None
    """One step of the optimizer in a training run, estimate."""
    step_bound: float | None = None
    """The same at every peak."""
    hours_to_end: float | None = None
    """The whole run, of training or of declared samples, estimate; None: not declared or known."""
    hours_range: tuple[float, float] | None = None
    """Between which hours it lies: by the shares of the peak that published runs reach, or the
    error of the engine's rate."""
    exposed_share: float | None = None
    """Part of a training step in which a GPU waits for others though all is hidden that can be."""
    pace: Pace | None = None
    """Of pipelines, which have no tokens."""
    rate_bound: float | None = None
    """Output of the replica at every peak: see `tokens_per_second`."""


def unmodelled(*why: str, link: Link | None = None, share: float | None = 0.0) -> Timing:
    """No times: of work on whole GPUs nothing moves between, else `link` and `share` say what."""
    return Timing(
        token_seconds=None,
        token_bound=None,
        prefill_seconds=None,
        prefill_bound=None,
        communication_share=share,
        link=link.name if link else "",
        link_bandwidth=link.bandwidth if link else None,
        tokens_per_second=None,
        bytes_per_step=None,
        unknown=why,
    )
