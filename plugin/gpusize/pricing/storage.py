"""What volumes, file systems, buckets and traffic out of a region cost in a month.

AWS counts the GB of its storage prices as 2^30 bytes, so GiB are multiplied as they are.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize.checkpointing import KEPT
from gpusize.rates import GP3_INCLUDED_MBPS, LUSTRE_PLAIN
from gpusize.volumes import ROOM
from gpusize_catalog.units import GIB

if TYPE_CHECKING:
    from collections.abc import Iterable

    from gpusize.volumes import Disk
    from gpusize.workload import Storage
    from gpusize_catalog.store import Catalog

FREE_EGRESS_GB = 100
"""GB per month that AWS lets out free of charge, over all regions of an account."""
EGRESS_TIERS = (
    ("egress-internet-0-10tb", 10_000.0),
    ("egress-internet-10-50tb", 50_000.0),
    ("egress-internet-50-150tb", 150_000.0),
    ("egress-internet-over-150tb", None),
)
"""Price rows of internet egress, and up to how many GB per month each holds."""
S3_TIERS = (
    ("s3-standard-first-50tb", 50 * 1024.0),
    ("s3-standard-next-450tb", 500 * 1024.0),
    ("s3-standard-over-500tb", None),
)
"""Price rows of S3 standard storage, and up to how many GiB each holds."""
Tiers = tuple[tuple[str, float | None], ...]


class Stored(NamedTuple):
    """What one run or service keeps, bytes."""

    weights: int = 0
    """One copy of the model."""
    checkpoint: int = 0
    """One checkpoint of a training run."""


class Sum(NamedTuple):
    """USD per month, and what is missing from it; None: not known at all."""

    usd: float | None
    missing: tuple[str, ...] = ()


class Shelf:
    """Storage prices of one workload, looked up once."""

    def __init__(self, catalog: Catalog, region: str, storage: Storage, day: str) -> None:
        """Keep where the prices are looked up."""
        self.catalog = catalog
        self.region = region
        self.storage = storage
        self._day = day
        self._usd: dict[str, float | None] = {}

    def usd(self, item: str) -> float | None:
        """The price of an item in the region on the day, None where it is not known."""
        if item not in self._usd:
            row = self.catalog.storage_price(item, self.region, self._day)
            self._usd[item] = None if row is None else row.usd
        return self._usd[item]

    def volume_monthly(self, disk: Disk) -> Sum:
        """The root volume of one instance."""
        size = self.usd("ebs-gp3-storage")
        if size is None:
            return Sum(None, (f"no gp3 price for {self.region}: the {disk.gib} GiB root volume",))
        extra = disk.mbps - GP3_INCLUDED_MBPS
        if extra <= 0:
            return Sum(disk.gib * size)
        speed = self.usd("ebs-gp3-throughput-over-125")
        if speed is None:
            return Sum(disk.gib * size, (f"no price for gp3 throughput in {self.region}",))
        return Sum(disk.gib * size + extra * speed)

    def shared_monthly(self, stored: Stored, checkpoints: str) -> Sum:
        """What all instances share: the file system and the bucket.

        `checkpoints` is where checkpoints lie, '' where none are kept.
        """
        return _joined((self._file_system(checkpoints), self._bucket(stored, checkpoints)))

    def _file_system(self, checkpoints: str) -> Sum:
        storage = self.storage
        if storage.fsx_gib is None:
            needed = "fsx" in (storage.weights.value, checkpoints)
            return Sum(0.0, ("the FSx file system: its size is not declared",) if needed else ())
        speed = storage.fsx_mbps_per_tib or LUSTRE_PLAIN
        size = self.usd(f"fsx-lustre-persistent2-ssd-{speed}")
        if size is None:
            what = f"{storage.fsx_gib} GiB at {speed} MB/s per TiB"
            return Sum(0.0, (f"no FSx price for {self.region}: {what}",))
        return Sum(storage.fsx_gib * size)

    def _bucket(self, stored: Stored, checkpoints: str) -> Sum:
        kept = stored.weights * ROOM if self.storage.weights.value == "s3" else 0.0
        if checkpoints == "s3":
            kept += stored.checkpoint * KEPT
        missing = ("no EFS price: the checkpoints",) if checkpoints == "efs" else ()
        gibibytes = self.storage.dataset_gib + kept / GIB
        found = self._in_tiers(S3_TIERS, gibibytes)
        if found is None:
            return Sum(0.0, (*missing, f"no S3 price for {self.region}: {gibibytes:.0f} GiB"))
        return Sum(found, missing)

    def egress_monthly(self) -> Sum:
        """Traffic to the internet."""
        gigabytes = self.storage.egress_gb_per_month
        found = self._in_tiers(EGRESS_TIERS, gigabytes, FREE_EGRESS_GB)
        if found is None:
            why = f"no egress price for {self.region}: {gigabytes:g} GB per month"
            return Sum(None, (why,))
        return Sum(found)

    def _in_tiers(self, tiers: Tiers, amount: float, free: float = 0.0) -> float | None:
        """USD of an amount, each part by the tier that it lies in; None where a price lacks."""
        total, billed_to = 0.0, free
        for item, upto in tiers:
            if amount <= billed_to:
                break
            price = self.usd(item)
            if price is None:
                return None
            end = amount if upto is None else min(amount, upto)
            total += max(0.0, end - billed_to) * price
            billed_to = max(billed_to, end)
        return total


def _joined(parts: Iterable[Sum]) -> Sum:
    parts = tuple(parts)
    return Sum(
        sum(part.usd or 0.0 for part in parts),
        tuple(text for part in parts for text in part.missing),
    )
