"""What a team allows: types, markets, regions, models and formats, money, GPUs and NVLink nodes.

All of it comes from the key `team` of the settings file; what it does not say is allowed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, NamedTuple

from gpusize_catalog.units import GIB

if TYPE_CHECKING:
    import datetime

TEAM_TAG = "team"
"""Tag whose value names the team that pays, where the settings name no other."""


class Limits(NamedTuple):
    """Ceilings of one workload, one team or one stack; None: no ceiling."""

    max_hourly: float | None = None
    """USD per hour."""
    max_monthly: float | None = None
    """USD per month."""
    max_run: float | None = None
    """USD per run of bounded work."""
    max_gpus: int | None = None


NO_LIMITS = Limits()


class Approval(NamedTuple):
    """Somebody's word that a workload may take NVLink nodes until a day, that day included."""

    workload: str
    """Name of the workload, a glob."""
    by: str
    until: datetime.date


class TeamRules(NamedTuple):
    """The key `team`: what a team allows; lists of nothing restrict nothing."""

    allow_types: tuple[str, ...] = ()
    """Globs of instance types; so are the next lists of their kinds."""
    deny_types: tuple[str, ...] = ()
    required_tags: tuple[str, ...] = ()
    default_tags: Mapping[str, str] = {}
    """Values of tags that may be added where a resource lacks them."""
    allow_regions: tuple[str, ...] = ()
    allow_markets: tuple[str, ...] = ()
    allow_models: tuple[str, ...] = ()
    deny_models: tuple[str, ...] = ()
    allow_formats: tuple[str, ...] = ()
    max_hourly: float | None = None
    max_monthly: float | None = None
    max_run: float | None = None
    max_gpus: int | None = None
    per_workload: Limits = NO_LIMITS
    team_tag: str = TEAM_TAG
    teams: Mapping[str, Limits] = {}
    """Ceilings by the value of the tag that names a team."""
    min_headroom_gib: float | None = None
    min_headroom_share: float | None = None
    """Part of a GPU's budget that stays free."""
    approve_nvlink: tuple[Approval, ...] | None = None
    """Approvals of NVLink nodes; None where they need none."""

    @property
    def stack(self) -> Limits:
        """Ceilings of a whole stack, or of a whole call of the command."""
        return Limits(self.max_hourly, self.max_monthly, self.max_run, self.max_gpus)

    def allows_type(self, name: str) -> bool:
        """Whether an instance type may be used."""
        return not self.denied_by(name) and fits(self.allow_types, name)

    def denied_by(self, name: str) -> str:
        """Return the glob that denies an instance type, '' where none does."""
        return next((glob for glob in self.deny_types if fnmatchcase(name, glob)), "")

    def allows_model(self, names: Iterable[str]) -> bool:
        """Whether a model may be used, under any of its names."""
        lowered = [name.lower() for name in names]
        if any(self.deny_models and within(self.deny_models, name) for name in lowered):
            return False
        return not self.allow_models or any(within(self.allow_models, name) for name in lowered)

    def approval_of(self, workload: str, today: datetime.date) -> Approval | None:
        """Return the approval of a workload that holds today."""
        given = self.approve_nvlink or ()
        held = (one for one in given if fnmatchcase(workload, one.workload) and today <= one.until)
        return next(held, None)

    def ended_approval(self, workload: str) -> Approval | None:
        """Return the approval of a workload that ended last, where it has one at all."""
        given = [one for one in self.approve_nvlink or () if fnmatchcase(workload, one.workload)]
        return max(given, key=lambda one: one.until, default=None)

    def headroom_of(self, budget: float) -> float:
        """Bytes of a GPU's budget that are to stay free."""
        return max((self.min_headroom_gib or 0.0) * GIB, (self.min_headroom_share or 0.0) * budget)


def fits(globs: tuple[str, ...], word: str) -> bool:
    """Whether a word is in a list of globs; everything is in one of none."""
    return not globs or any(fnmatchcase(word, glob) for glob in globs)


def within(globs: tuple[str, ...], lowered: str) -> bool:
    """Whether a word in small letters is in a list of globs, whatever the letters of these."""
    return any(fnmatchcase(lowered, glob.lower()) for glob in globs)


NO_RULES = TeamRules()
