"""Is the capacity bought in the way that suits the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain, wrapped
from gpusize_policies.message import Remark
from gpusize_policies.rule import rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case


@rule("GPU501", "spot-for-user-facing", Severity.ERROR, since="0.1")
def spot_for_user_facing(case: Case) -> Iterator[Remark]:
    """A service that users wait for runs on spot capacity alone.

    Why: AWS takes spot instances back with two minutes of notice. Loading the weights on a new
        instance takes longer, if there is one.
    Fix: set `market: on-demand` at the price in the finding, or declare what makes an interruption
        harmless (`userFacing: false`, `interruptionTolerance: restartable`).
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html
    """
    return wrapped(case, "spot-for-user-facing", "market")


@rule(
    "GPU502",
    "spot-without-checkpoint",
    Severity.ERROR,
    since="0.1",
    parameters=("spotReclaimsPerDay",),
)
def spot_without_checkpoint(case: Case) -> Iterator[Remark]:
    """A training run on spot capacity keeps no checkpoints.

    Why: AWS takes spot instances back with two minutes of notice, and the run begins again. A run
        that is longer than the time between interruptions may never end.
    Fix: declare `checkpoints` (and write them), or `market: on-demand`.
    Limits: runs of an hour and less pass; AWS publishes no rate of interruptions by type, so the
        rate is a setting and said to be assumed.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-interruptions.html
    """
    return plain(case, "spot-without-checkpoint")


@rule(
    "GPU503",
    "checkpoint-interval-too-long",
    Severity.WARN,
    since="0.1",
    parameters=("maxCheckpointLoss", "spotReclaimsPerDay"),
)
def checkpoint_interval_too_long(case: Case) -> Iterator[Remark]:
    """Checkpoints on spot capacity are so rare that interruptions cost too much of the run.

    Why: each interruption throws the run back by half an interval on average.
    Fix: lower `checkpoints.intervalMinutes` to the number in the finding.
    Limits: the rate of interruptions is a setting and said to be assumed.
    Sources: https://doi.org/10.1145/361147.361115 (Young 1974)
    """
    return plain(case, "checkpoint-interval-too-long")


@rule(
    "GPU506",
    "on-demand-for-fault-tolerant-batch",
    Severity.WARN,
    since="0.1",
    parameters=("minSpotDiscount", "maxSpotAgeDays"),
)
def on_demand_for_fault_tolerant_batch(case: Case) -> Iterator[Remark]:
    """Work that may be interrupted pays the on-demand price though spot is much cheaper.

    Why: batch inference and evaluation lose minutes to an interruption, not users.
    Fix: set `market: spot`, or leave the market to gpusize.
    Limits: silent where the spot price is unknown or older than the setting allows (GPU806), or
        where the discount is small.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/spot-best-practices.html
    """
    return wrapped(case, "on-demand-for-fault-tolerant-batch", "market")


@rule("GPU507", "always-on-for-bursty", Severity.WARN, since="0.1", parameters=("lowDuty",))
def always_on_for_bursty(case: Case) -> Iterator[Remark]:
    """A service that is busy a few hours a day keeps its instances up all day.

    Why: the hours without traffic are paid for like the others.
    Fix: set `replicas.min: 0` and scale by schedule or on demand; the finding names the idle
        dollars per month.
    Sources: AWS Well-Architected, generative AI lens, GENCOST02-BP02; machine learning lens,
        MLPER-12
    """
    return plain(case, "always-on-for-bursty")


@rule("GPU518", "on-demand-not-sold", Severity.ERROR, since="0.1")
def on_demand_not_sold(case: Case) -> Iterator[Remark]:
    """The instance type is not sold on demand.

    Why: a launch fails, and tools that know no price count it as free.
    Fix: buy a capacity block (`market: capacity-block`), or take the type that the finding names.
    Limits: only where AWS says so; a price that is merely missing is GPU806 or GPU812.
    Sources: https://aws.amazon.com/ec2/capacityblocks/pricing/
    """
    return wrapped(case, "on-demand-not-sold")
