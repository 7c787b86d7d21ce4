"""One run as data: what the writers of all formats are given."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from gpusize_policies.finding import Finding, Severity

if TYPE_CHECKING:
    from collections.abc import Iterator

    from gpusize.resolution import Resolution
    from gpusize_catalog.problems import Problem
    from gpusize_policies.finding import Subject
    from gpusize_policies.inputs import Context


class Judged(NamedTuple):
    """One workload with what the rules found."""

    subject: Subject
    resolution: Resolution | None
    findings: tuple[Finding, ...]


class Report(NamedTuple):
    """Everything that one run has to say."""

    judged: tuple[Judged, ...]
    problems: tuple[Problem, ...]
    """What was wrong with the input; the rest was judged all the same."""
    gpusize_version: str
    catalog_version: str
    catalog_digest: str
    today: str
    fail_on: Severity
    whole: tuple[Finding, ...] = ()
    """What concerns the run and no single workload: its settings."""
    environment: str = ""
    """Name of the environment whose settings held, '' where none was chosen."""

    @property
    def findings(self) -> Iterator[Finding]:
        """All findings, in the order of the workloads and of the codes; of the run at the end."""
        yield from (finding for judged in self.judged for finding in judged.findings)
        yield from self.whole

    def count(self, severity: Severity) -> int:
        """How many findings have that severity."""
        return sum(finding.severity is severity for finding in self.findings)

    @property
    def waived(self) -> int:
        """How many of the findings are waived."""
        return sum(bool(finding.waived_by) for finding in self.findings)

    @property
    def known(self) -> int:
        """How many of the findings are in the baseline."""
        return sum(finding.in_baseline for finding in self.findings)

    @property
    def fails(self) -> bool:
        """Whether a finding that nothing accepts reaches the threshold."""
        return any(
            finding.severity.rank <= self.fail_on.rank and not finding.is_accepted
            for finding in self.findings
        )


class Style(NamedTuple):
    """What a writer may use of the terminal."""

    color: bool = False


def summarize(
    judged: tuple[Judged, ...],
    problems: tuple[Problem, ...],
    context: Context,
    fail_on: str,
    whole: tuple[Finding, ...] = (),
) -> Report:
    """Put together what a run found and what it worked with."""
    from gpusize import __version__

    return Report(
        judged=judged,
        problems=problems,
        gpusize_version=__version__,
        catalog_version=context.catalog.version,
        catalog_digest=context.catalog.digest,
        today=context.today.isoformat(),
        fail_on=Severity(fail_on),
        whole=whole,
        environment=context.settings.environment,
    )
