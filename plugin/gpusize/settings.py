"""What a team may change about how gpusize decides, with the defaults and why they are so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from gpusize.names import to_camel, to_snake
from gpusize.team import NO_RULES, TeamRules
from gpusize.team_prices import LIST_PRICES, TeamPrices


class ResolveSettings(NamedTuple):
    """Limits of the resolver and of the constraints it shares with the rules."""

    max_spot_age_days: int = 90
    """A spot price older than this is no reason to blame an on-demand choice."""
    spot_evidence_days: int = 365
    """A spot price up to this age still lets gpusize choose spot for work that may be interrupted:
    spot is never dearer than on-demand, so a stale price costs nothing but the discount."""
    min_spot_discount: float = 0.30
    """Below this share of the on-demand price spot is not worth its interruptions."""
    max_communication_share: float = 1 / 3
    """More of the engine's time than this spent between GPUs without NVLink is a poor layout."""
    max_checkpoint_loss: float = 0.10
    """More of a run than this lost to interruptions and checkpoints is a poor interval."""
    spot_reclaims_per_day: float = 1.0
    """Interruptions of a spot instance in a day, assumed: AWS publishes no rate by type."""
    spot_reclaims_spread: float = 4.0
    """Factor by which the assumed rate may be wrong, either way: what the Spot Instance Advisor
    prints are shares of instances in a month, in five bands, and no rate follows from them."""
    restart_minutes: float = 15.0
    """Minutes from a launch to useful work, assumed: boot, image, weights or last checkpoint."""
    long_spot_hours: float = 24.0
    """Hours from which a training run is long for spot capacity of a type that is scarce."""
    reserve_from_gpu_hours: float = 1536.0
    """GPU-hours from which a pre-training needs capacity of its own: eight nodes of eight GPUs for
    a day."""
    steady_duty: float = 0.70
    """A service busy for more of the week than this uses what a commitment pays for."""
    forgotten_usd: float = 1000.0
    """USD from which instances that are forgotten after a run are worth a word: about a weekend of
    a node of eight A100."""
    min_price_advantage: float = 0.05
    """Below this share of its price a dearer type is not blamed: prices move by as much."""
    oversized_memory: float = 4.0
    """Times the memory that work needs, from which a GPU is too large for it."""
    max_egress_share: float = 0.10
    """More than this share of what the instances cost, sent to the internet, is worth a word."""
    max_price_age_days: int = 90
    """A catalog whose newest price is older than this is told to be stale."""
    max_measurement_age_days: int = 365
    """A measurement that is older than this is worth a word: drivers and libraries move."""
    max_waiver_days: int = 90
    """A waiver that holds for more days than this from today is invalid: a quarter, then somebody
    looks again."""
    budget_warn_share: float = 0.80
    """Part of a monthly budget from which a word is said before it is used up."""
    low_duty: float = 0.30
    """A service busy for less of the week than this should not be up all week."""
    min_host_gib: float = 12.0
    """GiB of host memory below which gpusize chooses no type itself: system, engine and one shard
    of weights (5 GB in most checkpoints) while it loads."""
    max_nodes: int = 4
    """Instances of one replica that gpusize considers by itself."""
    max_training_nodes: int = 64
    """Instances of one training run that gpusize considers by itself: those of one capacity block
    (EC2 user guide)."""
    min_fabric_gbps: float = 100.0
    """Network below which gpusize spans no replica over nodes: slower than a GPU's own PCIe link
    (PCIe 4 x8, 16 GB/s) it is no fabric for a model, whatever EFA it has."""
    max_load_seconds: float = 600.0
    """Longer than this to load weights from the root volume is a poor start: gpusize chooses a
    throughput that loads them in time, and says so of one that does not."""
    runners_up: int = 4
    """Alternatives in an answer."""
    prices: TeamPrices = LIST_PRICES
    """What the team pays in place of list prices."""
    team: TeamRules = NO_RULES
    """What the team allows."""


DEFAULTS = ResolveSettings()


def parameters() -> dict[str, int | float]:
    """Name every limit in camelCase, as files do, with its default."""
    return {
        to_camel(name): value
        for name, value in DEFAULTS._asdict().items()
        if isinstance(value, (int, float))
    }


def with_parameters(
    given: Mapping[str, float],
    prices: TeamPrices = LIST_PRICES,
    team: TeamRules = NO_RULES,
) -> ResolveSettings:
    """Change the defaults by some limits, each named in camelCase, and kept whole where it is."""
    changed: dict[str, Any] = {
        to_snake(name): type(default)(given[name])
        for name, default in parameters().items()
        if name in given
    }
    return DEFAULTS._replace(**changed, prices=prices, team=team)
