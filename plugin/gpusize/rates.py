"""How fast bytes move between an instance and where they lie: a rate with its band, and its limit.

A place gives what it gives, the instance lets through what its links let through, and a loader
takes what it takes: the slowest decides. The usual rate is that of what engines do by themselves,
the highest that of tools made for it, the lowest that of an instance without credits left.

Sources: [streamer] run-ai/runai-model-streamer, its benchmarks (15 GB, g5.12xlarge);
[fastsafetensors] vllm-project/vllm pull request 10647; [ebs] EC2 user guide, EBS-optimized
instances; [gp3] EBS user guide, general purpose volumes; [lustre] FSx for Lustre user guide, SSD
storage; [efs] EFS user guide, performance specifications; [network] EC2 user guide, instance
network bandwidth; [s3] S3 user guide, performance design patterns; [hub]
huggingface/huggingface_hub pull request 2989.
"""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.units import GIB

if TYPE_CHECKING:
    from gpusize.workload import Storage
    from gpusize_catalog.facts import InstanceType

MIB = 2**20
TIB_IN_GIB = 1024
MEGABITS = 1e6 / 8
"""Bytes per second of one Mbit/s."""
GIGABITS = 1e9 / 8
"""Bytes per second of one Gbit/s."""

GP3_INCLUDED_MBPS = 125
"""Throughput of a gp3 volume that costs nothing extra, MiB/s [gp3]."""
GP3_MOST_MBPS = 2000
"""Most throughput of one gp3 volume, MiB/s (1,000 before September 2025) [gp3]."""

PLAIN_LOADER = 0.313e9
"""Bytes per second of one reader that maps a file on a volume: 15 GB in 48.0 s from gp3 of 1,000
MiB/s, in 47 s from io2 of 4,000 MiB/s [streamer]. Readers side by side take all that a volume
gives: 14.3 s."""
LOCAL_LOADER = (1.6e9, 0.8e9, 3.8e9)
"""The same from a local NVMe: usual, low, high. 13.5 GB in 7.29 s, 26.0 GB in 16.0 s; 3.67 and 6.88
s where the file is read in large pieces [fastsafetensors]. What the small disks of small types give
is not published: the low end is half of what was measured."""
S3_READ = (1.78e9, 0.40e9, 3.07e9)
"""Of one loader from S3: 15 GB in 8.45 s by 16 connections, in 37.4 s by another loader, in 4.88 s
by 32 connections [streamer]. One connection gives 85 to 90 MB/s [s3]."""
S3_WRITE = (0.42e9, 0.30e9, 3.07e9)
"""Of one client into S3: 0.42 GB/s with 100 GB on a network of 100 Gbit/s (Hugging Face's benchmark
of buckets, m5dn.24xlarge); smaller objects 0.3 GB/s; at best what reading gives."""
HUB_READ = (0.65e9, 0.26e9, 1.5e9)
"""From the hub: 5 GB at 0.68 GB/s and 1 GB at 0.26 GB/s the first time (the same benchmark), 1.5
GB/s for each file by the fast client [hub]."""
INTERNET_VCPUS = 32
"""From so many vCPUs on half of the network reaches the internet [network]."""
INTERNET_SMALL_GBPS = 5.0
"""Network of smaller types to the internet, Gbit/s [network]."""
LUSTRE_CLIENT = 100 * GIGABITS
"""Of one client without EFA (FSx for Lustre user guide, throughput to clients; from memory)."""
LUSTRE_BURST = 1300
"""Burst of the file servers' network, MB/s per TiB, for what they keep in memory [lustre]."""
LUSTRE_PLAIN = 125
"""Throughput of the smallest tier, MB/s per TiB [lustre]."""
EFS_CLIENT = (500 * MIB, 100 * MIB, 1500 * MIB)
"""Of one client: 500 MiB/s, 1,500 MiB/s with elastic throughput and its own mount helper [efs]; a
small file system that bursts gives 100 MiB/s (AWS, 30 June 2020)."""


class Rate(NamedTuple):
    """Bytes per second: the usual rate, the ends of its band, and what it is limited by."""

    usual: float
    low: float
    high: float
    limit: str

    def times(self, factor: float) -> Rate:
        """The rate of several at once, or of a part."""
        return Rate(self.usual * factor, self.low * factor, self.high * factor, self.limit)


class Span(NamedTuple):
    """Seconds that some bytes take, with the ends of their band."""

    seconds: float
    low: float
    high: float
    limit: str
    """What decides it, in words."""


def slowest(*rates: Rate) -> Rate:
    """The rate of several in a row, each end for itself; the limit is that of the usual rate."""
    least = min(rates, key=lambda rate: rate.usual)
    low, high = min(rate.low for rate in rates), min(rate.high for rate in rates)
    return Rate(least.usual, low, high, least.limit)


def span(size: float, rate: Rate) -> Span:
    """Seconds that `size` bytes take at a rate."""
    return Span(size / rate.usual, size / rate.high, size / rate.low, rate.limit)


def steady(bandwidth: float, limit: str) -> Rate:
    """A rate without a band."""
    return Rate(bandwidth, bandwidth, bandwidth, limit)


def instance_store(instance: InstanceType) -> tuple[Rate | None, str]:
    """The local disks of an instance; without them None and the reason."""
    if not instance.nvme_gb:
        return None, f"{instance.id} has no instance store that is known"
    return banded(LOCAL_LOADER, f"local disks of {instance.id}"), ""


def volume(throughput_mbps: float, instance: InstanceType) -> Rate | None:
    """The root volume of an instance, by its throughput and the EBS bandwidth of the type.

    Small types keep their most for half an hour a day and fall to their baseline then [ebs]. None
    where the EBS bandwidth is not known.
    """
    most = instance.ebs_max_mbps or instance.ebs_baseline_mbps
    if most is None:
        return None
    least = instance.ebs_baseline_mbps or most
    link = Rate(
        most * MEGABITS, least * MEGABITS, most * MEGABITS, f"EBS bandwidth of {instance.id}"
    )
    gives = steady(throughput_mbps * MIB, f"throughput of the volume, {throughput_mbps:g} MB/s")
    return slowest(gives, link)


def network(instance: InstanceType) -> Rate | None:
    """The network of an instance; what a small type has above its baseline is no promise."""
    most = instance.network_gbps or instance.network_baseline_gbps
    if most is None:
        return None
    least = (instance.network_baseline_gbps or most) * GIGABITS
    return Rate(least, least, most * GIGABITS, f"network of {instance.id}")


def internet(instance: InstanceType) -> Rate | None:
    """What of an instance's network reaches the internet."""
    link = network(instance)
    if link is None:
        return None
    told = f"network of {instance.id} to the internet"
    if (instance.vcpus or 0) < INTERNET_VCPUS:
        return slowest(link, steady(INTERNET_SMALL_GBPS * GIGABITS, told))
    return Rate(link.usual / 2, link.low / 2, link.high / 2, told)


def lustre(storage: Storage) -> Rate | None:
    """A declared FSx for Lustre file system as one client sees it; None where it has no size."""
    if storage.fsx_gib is None:
        return None
    tebibytes = storage.fsx_gib / TIB_IN_GIB
    tier = storage.fsx_mbps_per_tib or LUSTRE_PLAIN
    disks = tebibytes * tier * 1e6
    kept = tebibytes * max(tier, LUSTRE_BURST) * 1e6
    gives = Rate(disks, disks, kept, f"throughput of the file system, {tebibytes * tier:.0f} MB/s")
    return slowest(gives, steady(LUSTRE_CLIENT, "one client of FSx for Lustre"))


def host_link(instance: InstanceType) -> Rate:
    """From host memory to all GPUs at once; no limit where it is not known: others are slower."""
    bandwidth = instance.pcie_bandwidth
    if not bandwidth:
        return steady(inf, "link to the GPU")
    return steady(bandwidth * (instance.gpus or 1), "link to the GPU")


def banded(numbers: tuple[float, float, float], limit: str) -> Rate:
    """A rate of its usual value, its low and its high end."""
    return Rate(*numbers, limit)


def of_memory(instance: InstanceType, size: float) -> bool:
    """Whether the host memory of an instance keeps so many bytes that were just written."""
    return (instance.memory_bytes or 0) > size + GIB
