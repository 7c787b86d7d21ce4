"""What nodes lose that talk over plain TCP instead of EFA: computed, never by family."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from gpusize.resolving.candidate import Candidate
    from gpusize_catalog.facts import InstanceType


def tcp_share(candidate: Candidate, interfaces: int = 1) -> float | None:
    """Share of a step that moving data between nodes takes over TCP; None where it is not known.

    TCP takes the network cards that have an interface, and each is given its full rate: one flow of
    TCP reaches far less, so the true share is larger.
    """
    from gpusize.resolving.candidate import Candidate as Placed

    placement = candidate.placement._replace(instance=_plain(candidate.instance, interfaces))
    return Placed(candidate.study, placement).timing.communication_share


def needs_fabric(candidate: Candidate, interfaces: int = 1) -> bool:
    """Tell whether the nodes of a replica exchange too much for TCP; no where that is not known."""
    if candidate.placement.domains == 1:
        return False
    share = tcp_share(candidate, interfaces)
    return share is not None and share > candidate.settings.max_communication_share


def _plain(instance: InstanceType, interfaces: int) -> InstanceType:
    """The type without EFA, with so many of its network cards in use."""
    cards = instance.network_cards or 1
    part = min(max(1, interfaces), cards) / cards
    rate, steady = instance.network_gbps, instance.network_baseline_gbps
    return instance._replace(
        efa=False,
        network_gbps=rate and rate * part,
        network_baseline_gbps=steady and steady * part,
    )
