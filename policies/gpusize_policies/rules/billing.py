"""Is the capacity bought in the way that suits the work."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain, wrapped
from gpusize_policies.message import Remark
from gpusize_policies.remedies import to_on_demand, to_spot
from gpusize_policies.rule import rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case


@rule("GPU501", "spot-for-user-facing", Severity.ERROR, since="0.1", remedy=to_on_demand)
def spot_for_user_facing(case: Case) -> Iterator[Remark]:
    """A service that users wait for runs on spot capacity alone.

    Why: AWS takes spot instances back with two minutes of notice. Loading the weights on a new
        instance takes longer, if there is one.
    Fix: set `market: on-demand` at the price in the finding, keep some replicas on demand
        (`replicas.onDemandBase`), or declare what makes an interruption harmless (`userFacing:
        false`, `interruptionTolerance: restartable`).
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

    Why: each interruption throws the run back by half an interval on average; where none is written
        before the run ends, two minutes of notice must do for a whole checkpoint.
    Fix: lower `checkpoints.intervalMinutes` to the number in the finding.
    Limits: the rate of interruptions is a setting and said to be assumed.
    Sources: https://doi.org/10.1145/361147.361115 (Young 1974)
    """
    return plain(case, "checkpoint-interval-too-long")


@rule(
    "GPU504",
    "long-training-on-spot",
    Severity.WARN,
    since="0.1",
    parameters=("longSpotHours",),
)
def long_training_on_spot(case: Case) -> Iterator[Remark]:
    """A pre-training, or another long training run, is on spot capacity of a scarce type.

    Why: of types that AWS sells in capacity blocks there is too little capacity: what an
        interruption takes away does not come back soon, and the run waits for it.
    Fix: buy a capacity block of the run's length, or set `market: on-demand`; a run that can wait
        may waive the finding.
    Limits: speaks on types that are sold in capacity blocks; on pre-training of more than an hour
        and other training of more than the setting.
    Sources: https://github.com/skypilot-org/skypilot/issues/4155;
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/rebalance-recommendations.html
    """
    return wrapped(case, "long-training-on-spot", "market")


@rule(
    "GPU505",
    "pretraining-without-reservation",
    Severity.ERROR,
    since="0.1",
    parameters=("reserveFromGpuHours",),
)
def pretraining_without_reservation(case: Case) -> Iterator[Remark]:
    """A large pre-training counts on on-demand or spot capacity that nobody holds for it.

    Why: nodes for such runs are seldom free when they are asked for, and all are needed at once. A
        savings plan or a reserved instance lowers the bill and holds no capacity.
    Fix: declare the `capacityBlock` in the finding, `reserve` on-demand capacity, or name an
        existing `capacityReservation`.
    Limits: speaks from a number of GPU-hours on; silent where the length of the run is not known.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html;
        https://github.com/skypilot-org/skypilot/issues/4657
    """
    return wrapped(case, "pretraining-without-reservation", "market")


@rule(
    "GPU506",
    "on-demand-for-fault-tolerant-batch",
    Severity.WARN,
    since="0.1",
    parameters=("minSpotDiscount", "maxSpotAgeDays"),
    remedy=to_spot,
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


@rule("GPU509", "commitment-for-short-run", Severity.ERROR, since="0.1")
def commitment_for_short_run(case: Case) -> Iterator[Remark]:
    """A commitment for years, or a block of many days, is bought for work that ends long before.

    Why: every hour of the term is paid for, used or not, and neither can be cancelled.
    Fix: drop the commitment, or buy the block of the days in the finding. The finding names the
        months of use after which the commitment pays off.
    Limits: where the rate is not known, only what not even the largest discount could pay off; put
        rates into `prices.commitments` of the settings file. A block is held against the run from
        twice the days that it needs on.
    Sources: https://docs.aws.amazon.com/savingsplans/latest/userguide/what-is-savings-plans.html;
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html
    """
    return plain(case, "commitment-for-short-run")


@rule(
    "GPU510",
    "steady-serving-on-demand",
    Severity.ADVICE,
    since="0.1",
    parameters=("steadyDuty",),
)
def steady_serving_on_demand(case: Case) -> Iterator[Remark]:
    """A service that is up most of the time for many months is all on demand.

    Why: a commitment of one or three years is cheaper by the hour, and pays off within the horizon.
    Fix: declare the `commitment` in the finding, or put the rate into `prices.commitments` of the
        settings file: AWS publishes rates of savings plans to accounts alone.
    Limits: needs `horizonMonths`. Where no rate is known it speaks from twelve months on, the
        shortest term.
    Sources: https://docs.aws.amazon.com/savingsplans/latest/userguide/what-is-savings-plans.html;
        AWS Well-Architected, cost optimization pillar
    """
    return plain(case, "steady-serving-on-demand")


@rule(
    "GPU511",
    "capacity-block-shorter-than-run",
    Severity.ERROR,
    since="0.1",
    parameters=("restartMinutes",),
)
def capacity_block_shorter_than_run(case: Case) -> Iterator[Remark]:
    """The declared capacity block ends before the run does.

    Why: AWS terminates the instances of a block from 30 minutes before its end on (UltraServers: 60
        minutes), and the time until they work is part of it too.
    Fix: buy a block of the days in the finding, or extend it before it ends.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-monitor.html
    """
    return plain(case, "capacity-block-shorter-than-run")


@rule("GPU512", "capacity-block-invalid-duration", Severity.ERROR, since="0.1")
def capacity_block_invalid_duration(case: Case) -> Iterator[Remark]:
    """AWS sells no capacity block of that many days or instances.

    Why: blocks last 1 to 14 days, then whole weeks up to 182 days, and hold 64 instances at most;
        the API refuses others.
    Fix: take the nearest length in the finding.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html;
        https://dev.classmethod.jp/articles/ec2-capacity-blocks-for-ml-instance-cb-vs-ultraserver-cb
    """
    return plain(case, "capacity-block-invalid-duration")


@rule("GPU513", "capacity-block-for-serving", Severity.WARN, since="0.1")
def capacity_block_for_serving(case: Case) -> Iterator[Remark]:
    """A service that users wait for runs in a capacity block.

    Why: it ends with the block, and there may be no next one to move to. The block is paid up front
        and cannot be cancelled.
    Fix: reserve on-demand capacity (`reserve`), and cover it with a `commitment`.
    Limits: silent where nobody waits (`userFacing: false`).
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-blocks-how.html
    """
    return plain(case, "capacity-block-for-serving")


@rule("GPU515", "no-auto-stop", Severity.ADVICE, since="0.1", parameters=("forgottenUsd",))
def no_auto_stop(case: Case) -> Iterator[Remark]:
    """Nothing stops dear instances when a run is over.

    Why: an instance that is forgotten over a weekend costs more than many runs; one node of eight
        A100 costs about 16,000 USD a month.
    Fix: declare `autoStop` (minutes of idleness, or hours in all), and let it be wired.
    Limits: speaks where forgetting the instances until the next run, else over a weekend of 60
        hours, costs more than the run and more than the setting: on others the advice is worth less
        than the attention it takes. A capacity block ends by itself.
    Sources: AWS Well-Architected, generative AI lens, GENCOST02-BP02
    """
    return plain(case, "no-auto-stop")


@rule("GPU518", "on-demand-not-sold", Severity.ERROR, since="0.1")
def on_demand_not_sold(case: Case) -> Iterator[Remark]:
    """The instance type is not sold on demand.

    Why: a launch fails, and tools that know no price count it as free.
    Fix: buy a capacity block (`market: capacity-block`), or take the type that the finding names.
    Limits: only where AWS says so; a price that is merely missing is GPU806 or GPU812.
    Sources: https://aws.amazon.com/ec2/capacityblocks/pricing/
    """
    if not case.seller:
        yield from wrapped(case, "on-demand-not-sold")


@rule("GPU519", "odcr-paid-while-idle", Severity.WARN, since="0.1")
def odcr_paid_while_idle(case: Case) -> Iterator[Remark]:
    """An on-demand capacity reservation is billed for capacity that no work uses.

    Why: reserved capacity costs what running instances cost, used or not, until it is cancelled.
    Fix: give `reserve.until`, the day on which bounded work is done; reserve as many instances as
        run.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/capacity-reservations-pricing-billing.html
    """
    return plain(case, "odcr-paid-while-idle")


@rule(
    "GPU520",
    "deadline-not-met",
    Severity.WARN,
    since="0.1",
    parameters=("restartMinutes", "spotReclaimsPerDay"),
)
def deadline_not_met(case: Case) -> Iterator[Remark]:
    """The run ends after its deadline, on spot capacity with its interruptions.

    Why: the result comes too late to be of use, and the money is spent.
    Fix: take the placement that the finding names, `market: on-demand`, or a later deadline.
    Limits: hours of training are estimated from its tokens; silent where they are not known. The
        rate of interruptions is a setting and said to be assumed; waiting for new capacity is not
        counted.
    Sources: https://doi.org/10.1016/j.future.2004.11.016 (Daly 2006)
    """
    return wrapped(case, "deadline-not-met")
