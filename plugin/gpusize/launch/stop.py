"""How instances of bounded work end by themselves: an alarm that stops what idles.

Source: Amazon CloudWatch User Guide, "Create alarms to stop, terminate, reboot, or recover an EC2
instance" and PutMetricAlarm of its API reference (actions, longest evaluation).
"""

from __future__ import annotations

from math import ceil
from typing import TYPE_CHECKING, Any

from gpusize.launch.common import Properties, market, tags
from gpusize_catalog.units import PERCENT

if TYPE_CHECKING:
    from gpusize.decision import Decision
    from gpusize.declared.groups import AutoStop

ALARM = "aws:cloudwatch/metricAlarm:MetricAlarm"

FINE_MINUTES = 5
"""Minutes between two points of an EC2 metric without detailed monitoring."""
COARSE_MINUTES = 60
FINE_LIMIT = 24 * 60
"""Minutes that an alarm of short periods looks back at most (PutMetricAlarm: one day)."""
COARSE_LIMIT = 7 * 24 * 60
"""Minutes that one of periods of an hour looks back at most (PutMetricAlarm: seven days)."""
SECONDS = 60
BUSY_VCPUS_PER_GPU = 0.5
"""A program that keeps a GPU busy polls it from one vCPU; less than half of that is idle. CPU use
stands in for GPU use, which EC2 does not measure by itself."""
PERCENT_DIGITS = 2


def auto_stop(decision: Decision) -> AutoStop | None:
    """Return what was declared; services have none."""
    found: AutoStop | None = getattr(decision.workload, "auto_stop", None)
    return found


def stops_by_itself(decision: Decision) -> bool:
    """Tell whether instances are to end without a person."""
    return auto_stop(decision) is not None


def ending(decision: Decision) -> str:
    """Return what becomes of an instance that ends: one on demand keeps its volumes.

    A one-time spot instance cannot be stopped.
    """
    return "stop" if market(decision) == "on-demand" else "terminate"


def watches(decision: Decision) -> bool:
    """Tell whether idle instances are looked for: a block is paid for whole, idle or not."""
    declared = auto_stop(decision)
    return (
        declared is not None
        and declared.idle_minutes is not None
        and market(decision) != "capacity-block"
        and decision.partition is not None
    )


def idle_percent(decision: Decision) -> float | None:
    """Return the CPU use below which an instance idles, percent; None where vCPUs are unknown."""
    found = decision.instance
    if found is None or not found.vcpus:
        return None
    share = BUSY_VCPUS_PER_GPU * max(1, found.gpus or 0) / found.vcpus
    return round(min(1.0, share) * PERCENT, PERCENT_DIGITS)


def alarm(decision: Decision, instance_id: Any, threshold: float) -> Properties:
    """Describe the alarm of one instance."""
    declared = auto_stop(decision)
    minutes = (declared.idle_minutes if declared else None) or 0
    period = FINE_MINUTES if minutes <= FINE_LIMIT else COARSE_MINUTES
    periods = max(1, ceil(minutes / period))
    region = decision.workload.region
    return {
        "region": region,
        "alarmDescription": f"gpusize workload {decision.name}: idle for {minutes} minutes",
        "namespace": "AWS/EC2",
        "metricName": "CPUUtilization",
        "dimensions": {"InstanceId": instance_id},
        "statistic": "Average",
        "comparisonOperator": "LessThanThreshold",
        "threshold": threshold,
        "period": period * SECONDS,
        "evaluationPeriods": periods,
        "datapointsToAlarm": periods,
        "treatMissingData": "notBreaching",
        "alarmActions": [f"arn:{decision.partition}:automate:{region}:ec2:{ending(decision)}"],
        "tags": tags(decision),
    }
