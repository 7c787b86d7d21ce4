"""What a run is told besides the declarations: presets, levels, thresholds, overlays and paths."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from gpusize.environments import Environment, Where, changed, chosen
from gpusize.team import NO_RULES, TeamRules
from gpusize.team_prices import LIST_PRICES, TeamPrices
from gpusize_policies.finding import Severity

if TYPE_CHECKING:
    import datetime
    from pathlib import Path

    from gpusize.settings import ResolveSettings
    from gpusize.settings_file import Deciding
    from gpusize_policies.rule import Rule
    from gpusize_policies.waivers import Waiver

OFF = "off"
REMEDIATE = "remediate"
"""Level of a rule that mends what it can; what is left of it is an error."""
NOTHING: Mapping[str, Any] = MappingProxyType({})

PRESETS: dict[str, dict[str, str]] = {
    "recommended": {},
    "strict": {"warn": "error"},
    "observe": {"error": "warn"},
}
"""What becomes of a rule's default severity; severities not named stay."""


class Custom(NamedTuple):
    """Rules that the team writes itself, and what they ask of a case."""

    rules: tuple[Rule, ...] = ()
    tag_keys: tuple[str, ...] = ()
    """Keys of tags whose values the rules may read."""
    facts: frozenset[str] = frozenset()
    """Facts that the rules read."""

    def joined(self, other: Custom) -> Custom:
        """These and others."""
        keys = dict.fromkeys((*self.tag_keys, *other.tag_keys))
        return Custom((*self.rules, *other.rules), tuple(keys), self.facts | other.facts)

    def asks(self, *needs: str) -> bool:
        """Whether a rule needs one of these, see `Needs`."""
        return any(rule.needs.value in needs for rule in self.rules)


NO_CUSTOM = Custom()


class Settings(NamedTuple):
    """What `gpusize-policy.yaml` says; `settings_file` reads it."""

    preset: str = "recommended"
    levels: Mapping[str, str] = NOTHING
    """Level by code of a rule."""
    parameters: Mapping[str, float] = NOTHING
    """Thresholds by their camelCase name, see `ResolveSettings`."""
    unknowns: str = "advice"
    today: datetime.date | None = None
    catalog: tuple[Path, ...] = ()
    """Overlay folders, later ones win."""
    workloads: Path | None = None
    """File of declarations that raw resources refer to; `gpusize.yaml` beside the program."""
    lock: Path | None = None
    """File of decisions; `gpusize.lock` beside the program."""
    prices: TeamPrices = LIST_PRICES
    """What the team pays in place of list prices."""
    quotas: Mapping[str, float] = NOTHING
    """vCPUs that the account may run, by quota code; `default` stands for all others."""
    waivers: tuple[Waiver, ...] = ()
    """Findings that the team accepts."""
    baseline: Path | None = None
    """File of the findings that were there before."""
    team: TeamRules = NO_RULES
    """What the team allows."""
    require_declaration: bool = False
    """Whether a GPU that no workload owns is an error."""
    environments: tuple[Environment, ...] = ()
    """What changes of all that on some stacks."""
    environment: str = ""
    """Name of the environment that these are of, where one was chosen."""
    custom: Custom = NO_CUSTOM
    """Rules that the team writes itself."""

    def level_of(self, rule: Rule) -> Severity | None:
        """Severity that a rule reports with; None when it is off."""
        level = self.levels.get(rule.code)
        if level is None and rule.code == "GPU900":
            level = "error" if self.preset == "strict" else self.unknowns
        if level is None and rule.is_off:
            level = OFF
        if level is None:
            default = rule.severity.value
            if rule.code == "GPU901" and self.require_declaration:
                default = "error"
            level = PRESETS[self.preset].get(default, default)
        if level == REMEDIATE:
            return Severity.ERROR
        return None if level == OFF else Severity(level)

    @property
    def resolving(self) -> ResolveSettings:
        """Thresholds, prices and team rules as the resolver and the constraints take them."""
        from gpusize.settings import with_parameters

        return with_parameters(self.parameters, self.prices, self.team)

    def at(self, where: Where) -> Settings:
        """The same for one stack: what its environment says holds."""
        found = chosen(self.environments, where)
        if found is None:
            return self
        return self._replace(**changed(self._asdict(), found.changes), environment=found.name)

    @property
    def deciding(self) -> Deciding:
        """The part that decisions depend on, as the component reads it."""
        from gpusize.settings_file import Deciding

        return Deciding(
            self.parameters,
            self.today,
            self.catalog,
            self.lock,
            self.prices,
            self.team,
            self.environments,
        )


DEFAULTS = Settings()


def load(path: str) -> Settings:
    """Read a settings file; raises GpuSizeError with every problem and its place."""
    from gpusize_policies.settings_file import load as read

    return read(path)


def schema() -> dict[str, Any]:
    """Return the JSON Schema of the settings file."""
    from gpusize_policies.settings_file import schema as made

    return made()
