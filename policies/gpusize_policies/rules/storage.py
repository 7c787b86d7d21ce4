"""Do weights and checkpoints lie where they fit, come from in time, and last."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from gpusize_catalog.units import gib
from gpusize_policies.finding import Severity
from gpusize_policies.fixes import plain
from gpusize_policies.message import Doubt, Remark
from gpusize_policies.remedies import larger_root
from gpusize_policies.rule import Needs, rule

if TYPE_CHECKING:
    from gpusize_policies.case import Case


@rule("GPU601", "root-volume-too-small", Severity.ERROR, since="0.1", remedy=larger_root)
def root_volume_too_small(case: Case) -> Iterator[Remark]:
    """The declared root volume does not hold the image and the weights that lie on it.

    Why: the download dies half-way, on an instance that is paid for meanwhile.
    Fix: set `storage.rootVolumeGib` to the number in the finding, or leave it to gpusize; or keep
        the weights in S3, on a file system or on the instance store.
    Limits: only where weights lie on the root volume; without `storage.imageGib` 20 GiB are taken
        for system and image, the least they are.
    Sources: kaito-project/kaito, `disk_storage_requirement` of its presets
    """
    return plain(case, "root-volume-too-small")


@rule(
    "GPU602",
    "root-volume-too-slow",
    Severity.ADVICE,
    since="0.1",
    parameters=("maxLoadSeconds",),
)
def root_volume_too_slow(case: Case) -> Iterator[Remark]:
    """The root volume gives the weights to no loader in the time that a start may take.

    Why: a gp3 volume gives 125 MiB/s where nothing else is bought: 140 GB of weights take 18
        minutes, at each start and each time that a service scales out.
    Fix: raise `storage.rootVolumeThroughputMbps` to the number in the finding, or keep the weights
        where they are read faster.
    Limits: the limit is `storage.loadSeconds` where it is declared, else a setting; what loaders
        lose beside is not counted, so it takes longer.
    Sources: https://docs.aws.amazon.com/ebs/latest/userguide/general-purpose.html,
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/ebs-optimized.html
    """
    return plain(case, "root-volume-too-slow")


@rule("GPU603", "no-checkpoint-storage", Severity.ERROR, since="0.1")
def no_checkpoint_storage(case: Case) -> Iterator[Remark]:
    """A training run of more than an hour keeps no checkpoints.

    Why: whatever stops the run throws it back to its start: a fault of a GPU, a full disk, a
        stop by hand.
    Fix: declare `checkpoints`, and write them to S3, FSx or EFS.
    Limits: silent where the length of the run is not known, and on spot, where GPU502 says it.
    Sources: Boise-State-Development/agentcore-public-stack#1025 (a run of 48.5 h simulated: 3,198
        hours are paid for without checkpoints, 17.9 with them)
    """
    return plain(case, "no-checkpoint-storage")


@rule("GPU604", "checkpoints-on-instance-store", Severity.ERROR, since="0.1")
def checkpoints_on_instance_store(case: Case) -> Iterator[Remark]:
    """Checkpoints lie where they are lost with the instance that writes them.

    Why: local disks are empty after a stop or a fault of the host, and EC2 deletes the root volume
        when an instance ends: the checkpoints go with what they were to outlive.
    Fix: set `checkpoints.location` to `s3`, `fsx` or `efs`; a local copy may stand beside it.
    Limits: runs that are known to take an hour or less pass.
    Sources: https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/instance-store-lifetime.html,
        https://docs.aws.amazon.com/AWSEC2/latest/UserGuide/configure-root-volume-delete-on-termination.html
    """
    return plain(case, "checkpoints-on-instance-store")


@rule("GPU605", "cross-region-weights", Severity.WARN, since="0.1")
def cross_region_weights(case: Case) -> Iterator[Remark]:
    """The weights lie in another region than the work.

    Why: AWS charges for every byte that leaves a region, and what lies far away loads slowly: each
        start and each time that a service scales out pays both.
    Fix: keep a copy of the bucket in the region of the work (S3 replicates it), or run there.
    Limits: only where `storage.weightsRegion` is declared, and not for file systems and the hub.
    Sources: https://aws.amazon.com/ec2/pricing/on-demand/ (data transfer), the catalog's
        `storage_network_prices` table
    """
    return plain(case, "cross-region-weights")


@rule("GPU606", "egress-heavy-output", Severity.ADVICE, since="0.1", parameters=("maxEgressShare",))
def egress_heavy_output(case: Case) -> Iterator[Remark]:
    """Sending results to the internet costs a large part of what the instances cost.

    Why: video, pictures and audio are large, and traffic out of AWS is among its dearest items; a
        cheaper GPU does not help against it.
    Fix: let those who use the results run in the same region, put a content network in front, or
        compress what is sent.
    Limits: only where `storage.egressGbPerMonth` is declared and both prices are known.
    Sources: the catalog's `storage_network_prices` table
    """
    return plain(case, "egress-heavy-output")


NAT_PRICE = "nat-gateway-processing"
"""Price row of a GB that goes through a NAT gateway."""


@rule("GPU607", "nat-gateway-weight-download", Severity.WARN, since="0.1", needs=Needs.RESOURCE)
def nat_gateway_weight_download(case: Case) -> Iterator[Remark | Doubt]:
    """Weights come from S3 through a NAT gateway.

    Why: a NAT gateway charges for every GB, at each start and each time that a service scales out;
        a gateway endpoint for S3 costs nothing and is as fast as the network of the instance.
    Fix: make a VpcEndpoint of the service `com.amazonaws.<region>.s3`, in the route table of the
        subnet.
    Limits: only where weights are declared to lie in S3 (`storage.weights: s3`) and the stack holds
        subnet, route table and routes; dollars only where the catalog has the price.
    Sources: https://docs.aws.amazon.com/vpc/latest/privatelink/vpc-endpoints-s3.html,
        https://docs.aws.amazon.com/vpc/latest/userguide/nat-gateway-pricing.html
    """
    candidate, selection = case.candidate, case.selection
    if candidate is None or selection is None or candidate.workload.storage.weights.value != "s3":
        return
    if not selection.s3_by_nat.known:
        yield Doubt(selection.doubts("s3_by_nat"))
    if not selection.s3_by_nat.says or not selection.s3_by_nat.value:
        return
    from gpusize.constraints.movement import fetched

    found = fetched(candidate, NAT_PRICE, candidate.workload.region)
    money = found.money("what it charges is not in the catalog")
    yield Remark(
        f"each start of {found.starters} fetches {gib(found.size)} of weights from S3 through a NAT"
        f" gateway: {money}",
        ("a gateway VpcEndpoint for S3 in the route table of the subnet",),
        found.numbers,
    )
